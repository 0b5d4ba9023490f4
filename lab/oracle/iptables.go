package oracle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// iptables tells the rules in the kernel's old tables, which nft does not show. A
// tool is started only where there is such a table: it would make one.
func (ns *netns) iptables() error {
	for _, family := range []struct{ names, command, sort string }{
		{"ip_tables_names", "iptables-legacy-save", "ip"}, {"ip6_tables_names", "ip6tables-legacy-save", "ip6"},
	} {
		names, err := os.ReadFile("/proc/thread-self/net/" + family.names)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("iptables: %w", err)
		}
		if len(strings.TrimSpace(string(names))) == 0 {
			continue
		}
		out, err := tool(family.command)
		if err != nil {
			return err
		}
		for _, i := range parseSaved(out) {
			ns.tell("iptables", family.sort+" "+i.Name, i.Value)
		}
	}
	return nil
}

// parseSaved reads what iptables-save prints, without counts.
func parseSaved(out string) []Item {
	var items []Item
	table := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "*"):
			table = line[1:]
		case strings.HasPrefix(line, ":"):
			fields := strings.Fields(line[1:])
			if len(fields) > 1 {
				items = append(items, Item{Name: table + " chain " + fields[0], Value: fields[1]})
			}
		case strings.HasPrefix(line, "-A "):
			items = append(items, Item{Name: table + " " + line[3:]})
		}
	}
	return items
}
