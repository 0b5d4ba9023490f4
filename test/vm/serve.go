package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
)

// server lets other processes on this host run commands in one machine, by
// frames over a Unix socket: one connection, one command.
type server struct {
	machine  *machine
	listener net.Listener
	served   sync.WaitGroup
}

func serve(m *machine, socket string) (*server, error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	s := &server{machine: m, listener: l}
	s.served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed
			}
			s.served.Go(func() { s.handle(c) })
		}
	})
	return s, nil
}

// close stops serving and waits for the commands that still run.
func (s *server) close() {
	s.listener.Close()
	s.served.Wait()
}

func (s *server) handle(c net.Conn) {
	defer c.Close()
	client := newLink(c)
	start, err := client.receive()
	if err != nil || start.Command == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		// Nothing more comes from a client; its end kills the command.
		_, _ = client.receive()
		cancel()
	}()
	status, err := s.machine.run(ctx, *start.Command, strings.NewReader(""),
		client.writer(0, frameStdout), client.writer(0, frameStderr))
	end := frame{Kind: frameExit, Status: status}
	if err != nil {
		end = frame{Kind: frameNotFound, Status: exitMachine, Data: []byte(err.Error())}
	}
	_ = client.send(end)
}

// clientMain is `vm client SOCKET CMD...`, which go test -exec starts for each
// test binary.
func clientMain(args []string) (int, error) {
	if len(args) < 2 {
		return exitUsage, errors.New("usage: vm client SOCKET CMD")
	}
	c, err := hostCommand(args[1:], nil)
	if err != nil {
		return exitMachine, err
	}
	conn, err := net.Dial("unix", args[0])
	if err != nil {
		return exitMachine, err
	}
	defer conn.Close()
	server := newLink(conn)
	if err := server.send(frame{Kind: frameStart, Command: &c}); err != nil {
		return exitMachine, err
	}
	for {
		f, err := server.receive()
		if err != nil {
			return exitMachine, fmt.Errorf("the virtual machine is gone: %w", err)
		}
		switch f.Kind {
		case frameStdout:
			_, err = os.Stdout.Write(f.Data)
		case frameStderr:
			_, err = os.Stderr.Write(f.Data)
		case frameExit:
			return f.Status, nil
		case frameNotFound:
			return f.Status, errors.New(string(f.Data))
		default: // the rest goes the other way
		}
		if err != nil {
			return exitMachine, err
		}
	}
}
