package report

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/lab/campaign"
)

// faultWords say what a fault does: in the campaign's words, or what its name
// lets one know.
func faultWords(r campaign.Result, fault string) string {
	if words := r.Words[fault]; words != "" {
		return words
	}
	for errno := unix.Errno(1); errno < 134; errno++ {
		if unix.ErrnoName(errno) == fault {
			return fmt.Sprintf("the call fails with %s (%v)", fault, errno)
		}
	}
	return fault
}

// times says an occurrence.
func times(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

// by says which program of which plugin.
func by(p campaign.Point) string {
	if p.Program == p.Plugin || p.Program == "" {
		return p.Plugin
	}
	return p.Plugin + "/" + p.Program
}

// printable is a text as one line that only prints: what plugins say may hold
// anything, and a terminal obeys.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// cut is a text of at most width characters; all of it if width is 0.
func cut(s string, width int) string {
	r := []rune(s)
	if width <= 0 || len(r) <= width {
		return s
	}
	return string(r[:max(width-1, 0)]) + "…"
}

// number groups digits: 12,345.
func number(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// count is a number and what it counts.
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + one + "s"
}
