package kernel

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// parseSaved reads what iptables-save prints of one table.
func parseSaved(out string) (map[string][]NftRule, error) {
	chains := map[string][]NftRule{}
	for line := range strings.Lines(out) {
		words, err := savedWords(strings.TrimSpace(line))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		switch {
		case len(words) > 0 && strings.HasPrefix(words[0], ":"):
			chains[words[0][1:]] = nil
		case len(words) > 1 && words[0] == "-A":
			chains[words[1]] = append(chains[words[1]], savedRule(words[2:]))
		}
	}
	return chains, nil
}

// savedWords takes a line apart. Words may be in quotes, with \ before what is
// meant as it stands.
func savedWords(line string) ([]string, error) {
	var (
		words          []string
		word           strings.Builder
		inside, quoted bool
	)
	end := func() {
		if inside {
			words = append(words, word.String())
		}
		word.Reset()
		inside = false
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			quoted, inside = !quoted, true
		case c == '\\' && quoted && i+1 < len(line):
			i++
			word.WriteByte(line[i])
		case c == ' ' && !quoted:
			end()
		default:
			word.WriteByte(c)
			inside = true
		}
	}
	if quoted {
		return nil, errors.New("the quotes do not end")
	}
	end()
	return words, nil
}

// savedRule reads a rule; what there is no word for makes it foreign.
func savedRule(words []string) NftRule {
	var r NftRule
	not := false
	for len(words) > 0 {
		word, value := words[0], ""
		words = words[1:]
		if word == "!" {
			not = true
			continue
		}
		if len(words) > 0 {
			value = words[0]
		}
		if !savedOption(&r, word, value, not) {
			r.Foreign = true
		} else if len(words) > 0 {
			words = words[1:]
		}
		not = false
	}
	return r
}

func savedOption(r *NftRule, word, value string, not bool) bool {
	switch word {
	case "-s", "-d":
		p, err := netip.ParsePrefix(value)
		net := &r.Match.Source
		if word == "-d" {
			net = &r.Match.Destination
		}
		*net = NftNet{Prefix: p, Not: not}
		return err == nil
	case "-i":
		r.Match.IifName = value
		return !not && !strings.HasSuffix(value, "+")
	case "-m":
		return value == "comment"
	case "--comment":
		r.Comment = value
		return true
	case "-j", "-g":
		r.Action = savedTarget(word, value)
		return true
	}
	return false
}

func savedTarget(word, value string) NftAction {
	switch value {
	case "ACCEPT":
		return NftAction{Verb: NftAccept}
	case "DROP":
		return NftAction{Verb: NftDrop}
	case "RETURN":
		return NftAction{Verb: NftReturn}
	case "MASQUERADE":
		return NftAction{Verb: NftMasquerade}
	}
	if word == "-g" {
		return NftAction{Verb: NftGoto, Chain: value}
	}
	return NftAction{Verb: NftJump, Chain: value}
}
