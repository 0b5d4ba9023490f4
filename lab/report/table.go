package report

import (
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Options say how a text is laid out. None are needed.
type Options struct {
	Colour bool // mark what is bad with a terminal's colours
	Width  int  // cut lines to this; 0: don't
	Worst  int  // tell at most so many failures in words; 0: ten; below: none
}

// Terminal are the options that suit a file: colours and a width only if it is a
// terminal and the user has not said no (NO_COLOR).
func Terminal(f *os.File) Options {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return Options{}
	}
	plain := os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
	return Options{Colour: !plain, Width: int(size.Col)}
}

func (o Options) paint(s, code string) string {
	if !o.Colour || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (o Options) bad(s string) string   { return o.paint(s, "1;31") }
func (o Options) faint(s string) string { return o.paint(s, "2") }
func (o Options) bold(s string) string  { return o.paint(s, "1") }

// A field of a table: colours take no place.
type field struct {
	text  string
	paint func(string) string
}

// table lays lines out in columns: the first names to the left, others, which
// are numbers, to the right. A line without fields is a rule.
func table(lines [][]field, names int) string {
	var widths []int
	for _, line := range lines {
		for i, f := range line {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(f.text))
		}
	}
	all := 0
	for _, w := range widths {
		all += w + 2
	}
	var b strings.Builder
	for _, line := range lines {
		if len(line) == 0 {
			b.WriteString(strings.Repeat("-", max(all-2, 0)) + "\n")
			continue
		}
		var row strings.Builder
		for i, f := range line {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(f.text))
			text := f.text
			if f.paint != nil {
				text = f.paint(text)
			}
			if i > 0 {
				row.WriteString("  ")
			}
			if i < names {
				row.WriteString(text + pad)
			} else {
				row.WriteString(pad + text)
			}
		}
		b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
	return b.String()
}
