package oracle

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	sizeofNfgenmsg = 4
	nftables       = unix.NFNL_SUBSYS_NFTABLES << 8
)

// nftables tells the rule set. Only where there is a table is nft started; it
// gives the text.
func (ns *netns) nftables() error {
	c, err := dial(unix.NETLINK_NETFILTER)
	if errors.Is(err, unix.EPROTONOSUPPORT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.close()
	for range tries {
		tables, err := c.dump(nftables|unix.NFT_MSG_GETTABLE, make([]byte, sizeofNfgenmsg))
		if errors.Is(err, unix.EINVAL) {
			return nil // a kernel without nftables
		}
		if err != nil {
			return fmt.Errorf("nftables: %w", err)
		}
		if len(tables) == 0 {
			return nil
		}
		facts, err := ns.ruleset(c)
		if errors.Is(err, errMoved) {
			continue
		}
		ns.facts = append(ns.facts, facts...)
		return err
	}
	return fmt.Errorf("nftables: %w", errMoved)
}

// ruleset reads it by nft, and by netlink what nft does not show: what the
// extensions that iptables-nft uses are told.
func (ns *netns) ruleset(c *conn) ([]fact, error) {
	hidden, err := extensions(c)
	if err != nil {
		return nil, err
	}
	out, err := tool("nft", "--numeric", "--numeric", "--stateless", "list", "ruleset")
	if err != nil {
		return nil, err
	}
	items, err := parseRuleset(out)
	if err != nil {
		return nil, fmt.Errorf("nft's answer: %w", err)
	}
	var facts []fact
	for _, i := range items {
		if i.rule {
			if len(hidden[i.where]) == 0 {
				return nil, errMoved
			}
			// In the place of an extension that it hides nft leaves a blank.
			i.text = strings.ReplaceAll(i.text, "  ", " ") + hidden[i.where][0]
			hidden[i.where] = hidden[i.where][1:]
		}
		facts = append(facts, fact{Item: Item{Kind: "nft", Where: ns.name, Name: i.name(), Value: i.value}})
	}
	for _, rest := range hidden {
		if len(rest) > 0 {
			return nil, errMoved
		}
	}
	return facts, nil
}

// tool runs a command on this thread: in the namespace that it is in.
func tool(name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(c.Args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

// extensions shows, for each rule of each chain in order, what iptables'
// extensions in it are told: nothing, for most.
func extensions(c *conn) (map[string][]string, error) {
	answer, err := c.dump(nftables|unix.NFT_MSG_GETRULE, make([]byte, sizeofNfgenmsg))
	if err != nil {
		return nil, fmt.Errorf("nftables' rules: %w", err)
	}
	shown := map[string][]string{}
	for _, m := range answer {
		head, t, err := headed(m.data, sizeofNfgenmsg)
		if err != nil {
			return nil, fmt.Errorf("nftables' rules: %w", err)
		}
		said, err := extensionsOf(t[unix.NFTA_RULE_EXPRESSIONS])
		if err != nil {
			return nil, fmt.Errorf("nftables' rules: %w", err)
		}
		where := familyName(head[0]) + " " + t.text(unix.NFTA_RULE_TABLE) + " " + t.text(unix.NFTA_RULE_CHAIN)
		shown[where] = append(shown[where], said)
	}
	return shown, nil
}

func extensionsOf(expressions []byte) (string, error) {
	all, err := list(expressions)
	if err != nil {
		return "", err
	}
	var said string
	for _, e := range all {
		t, err := tableOf(e.data)
		if err != nil {
			return "", err
		}
		name := t.text(unix.NFTA_EXPR_NAME)
		if name != "match" && name != "target" {
			continue
		}
		x, err := tableOf(t[unix.NFTA_EXPR_DATA])
		if err != nil {
			return "", err
		}
		const xtName, xtInfo = 1, 3 // NFTA_MATCH_NAME, NFTA_MATCH_INFO, and the same of targets
		info := bytes.TrimRight(x[xtInfo], "\x00")
		if x.text(xtName) == "comment" {
			said += fmt.Sprintf(" comment=%q", text(x[xtInfo]))
		} else {
			said += fmt.Sprintf(" %s(%s)", x.text(xtName), hex.EncodeToString(info))
		}
	}
	if said != "" {
		said = " #" + said
	}
	return said, nil
}

func familyName(f byte) string {
	return named(int(f), map[int]string{
		unix.NFPROTO_INET: "inet", unix.NFPROTO_IPV4: "ip", unix.NFPROTO_ARP: "arp", unix.NFPROTO_NETDEV: "netdev",
		unix.NFPROTO_BRIDGE: "bridge", unix.NFPROTO_IPV6: "ip6",
	})
}
