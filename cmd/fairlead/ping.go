package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"github.com/fairlead-net/fairlead/kernel"
)

// ping sends echo requests (RFC 792, RFC 4443) from the namespace at path until
// one is answered, and gives its round trip. A new bridge port may still be
// learning, so one second goes to each try, ten to all.
func ping(ctx context.Context, path string, to net.IP) (time.Duration, error) {
	conn, request, err := icmpSocket(path, to)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for seq := 1; ctx.Err() == nil; seq++ {
		rtt, err := echo(conn, request, to, seq)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return rtt, err
		}
	}
	return 0, fmt.Errorf("no answer: %w", ctx.Err())
}

func icmpSocket(path string, to net.IP) (conn *icmp.PacketConn, request icmp.Type, err error) {
	network, any := "ip4:icmp", "0.0.0.0"
	request = ipv4.ICMPTypeEcho
	if to.To4() == nil {
		network, any, request = "ip6:ipv6-icmp", "::", ipv6.ICMPTypeEchoRequest
	}
	ns, absence, err := kernel.Open(path)
	if err != nil {
		return nil, nil, err
	}
	if absence != "" {
		return nil, nil, fmt.Errorf("%s: %s", path, absence)
	}
	err = ns.Do(func() error {
		conn, err = icmp.ListenPacket(network, any)
		return err
	})
	return conn, request, errors.Join(err, ns.Close())
}

func echo(conn *icmp.PacketConn, request icmp.Type, to net.IP, seq int) (time.Duration, error) {
	id := os.Getpid() & 0xffff
	msg := icmp.Message{Type: request, Body: &icmp.Echo{ID: id, Seq: seq, Data: []byte("fairlead")}}
	data, err := msg.Marshal(nil)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if _, err := conn.WriteTo(data, &net.IPAddr{IP: to}); err != nil {
		return 0, err
	}
	if err := conn.SetReadDeadline(start.Add(time.Second)); err != nil {
		return 0, err
	}
	protocol := request.(interface{ Protocol() int }).Protocol()
	buf := make([]byte, 1500)
	for {
		n, _, err := conn.ReadFrom(buf)
		if err != nil {
			return 0, err
		}
		reply, err := icmp.ParseMessage(protocol, buf[:n])
		if err != nil {
			continue // not one that we understand, so not ours
		}
		body, ok := reply.Body.(*icmp.Echo)
		if ok && reply.Type != request && body.ID == id && body.Seq == seq {
			return time.Since(start), nil
		}
	}
}
