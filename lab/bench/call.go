package bench

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"time"
)

// call is one attachment of one candidate: what ADD and then DEL are about.
type call struct {
	container string
	netns     string // path of the namespace, as the host sees it
	ifName    string
	hostIf    string     // the floor's name for the host's end
	address   netip.Addr // the floor's address
	first     []byte     // what ADD of the plugin before printed
	result    []byte     // what ADD printed
}

// newCall makes up the attachment number i in the namespace at path.
func newCall(s scenario, i int, path string) *call {
	id := sha256.Sum256(fmt.Appendf(nil, "%s %d", s.name, i))
	ifName := s.expect.ifName
	if ifName == "" {
		ifName = "eth0"
	}
	return &call{
		container: hex.EncodeToString(id[:]),
		netns:     path,
		ifName:    ifName,
		hostIf:    fmt.Sprintf("veth%08x", i),
		address:   leaseAddress(s.leases + i),
	}
}

// prefix is the floor's address with the subnet's length.
func (c *call) prefix() string { return netip.PrefixFrom(c.address, subnet().Bits()).String() }

// environment is what a runtime gives to a plugin; dir is CNI_PATH.
func (c *call) environment(op operation, dir string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "CNI_COMMAND=" + op.verb()}
	if op == opVersion {
		return env
	}
	return append(env,
		"CNI_CONTAINERID="+c.container,
		"CNI_NETNS="+c.netns,
		"CNI_IFNAME="+c.ifName,
		"CNI_ARGS=IgnoreUnknown=1",
		"CNI_PATH="+dir)
}

// process is what is executed for a call.
type process struct {
	path  string
	args  []string
	env   []string
	stdin []byte
}

// run executes it, from the calling thread's namespaces, and returns what it
// printed and how long it took from before its start until after its end.
func (p process) run() (stdout []byte, took time.Duration, err error) {
	var out, complaints bytes.Buffer
	cmd := exec.Command(p.path, p.args...)
	cmd.Env = p.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(p.stdin), &out, &complaints
	start := time.Now()
	err = cmd.Run()
	took = time.Since(start)
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", p.path, strings.Join(p.args, " "), err,
			strings.Join(strings.Fields(out.String()+complaints.String()), " "))
	}
	return out.Bytes(), took, err
}
