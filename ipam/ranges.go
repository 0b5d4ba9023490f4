package ipam

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// A Range is a run of addresses of one subnet, both ends included. It is
// complete and consistent once ParseRange has made it.
type Range struct {
	Subnet  netip.Prefix `json:"subnet"`
	Start   netip.Addr   `json:"rangeStart"`
	End     netip.Addr   `json:"rangeEnd"`
	Gateway netip.Addr   `json:"gateway"`
}

// A RangeSet is a list of ranges of one family: an attachment gets one address
// of each set.
type RangeSet []Range

// WireRange is a range as a configuration states it.
type WireRange struct {
	Subnet     string `json:"subnet,omitempty"`
	RangeStart string `json:"rangeStart,omitempty"`
	RangeEnd   string `json:"rangeEnd,omitempty"`
	Gateway    string `json:"gateway,omitempty"`
}

// ParseRange validates a range and fills in what is left out: the gateway and
// the start are the subnet's first address, the end is its last (for IPv4 the
// one before the broadcast address).
func ParseRange(w WireRange) (Range, error) {
	var r Range
	var err error
	if r.Subnet, err = parseSubnet(w.Subnet); err != nil {
		return Range{}, err
	}
	first, last := bounds(r.Subnet)
	if r.Gateway, err = parseWithin("gateway", w.Gateway, r.Subnet, first); err != nil {
		return Range{}, err
	}
	if r.Start, err = parseWithin("rangeStart", w.RangeStart, r.Subnet, first); err != nil {
		return Range{}, err
	}
	if r.End, err = parseWithin("rangeEnd", w.RangeEnd, r.Subnet, last); err != nil {
		return Range{}, err
	}
	if r.End.Less(r.Start) {
		return Range{}, fmt.Errorf("rangeStart %s comes after rangeEnd %s", r.Start, r.End)
	}
	return r, nil
}

func parseSubnet(text string) (netip.Prefix, error) {
	if text == "" {
		return netip.Prefix{}, errors.New("subnet is missing")
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("subnet %q is not an address with a prefix length", text)
	}
	if p.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("subnet %s: write an IPv4 subnet in its IPv4 form", text)
	}
	if p.Bits() > p.Addr().BitLen()-2 {
		return netip.Prefix{}, fmt.Errorf("subnet %s is too small to allocate from", text)
	}
	if p != p.Masked() {
		return netip.Prefix{}, fmt.Errorf("subnet %s has host bits set; the network is %s", text, p.Masked())
	}
	return p, nil
}

// parseWithin reads an address that must lie in the subnet; none gives alt.
func parseWithin(field, text string, subnet netip.Prefix, alt netip.Addr) (netip.Addr, error) {
	if text == "" {
		return alt, nil
	}
	addr, err := parseAddr(text)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("%s: %w", field, err)
	}
	if !subnet.Contains(addr) {
		return netip.Addr{}, fmt.Errorf("%s %s is outside the subnet %s", field, addr, subnet)
	}
	return addr, nil
}

// parseAddr reads an address without a zone, in the form that file names have.
func parseAddr(text string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("%q is not an IP address", text)
	}
	return addr.Unmap(), nil
}

// bounds gives the first and the last address to hand out of a whole subnet.
func bounds(p netip.Prefix) (first, last netip.Addr) {
	first = p.Addr().Next()
	b := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(b)*8; bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ = netip.AddrFromSlice(b)
	if last.Is4() {
		last = last.Prev()
	}
	return first, last
}

// Contains tells whether the address may be handed out of the range, its
// gateway aside.
func (r Range) Contains(a netip.Addr) bool {
	return a.BitLen() == r.Start.BitLen() && !a.Less(r.Start) && !r.End.Less(a)
}

// Overlaps tells whether the two have an address in common.
func (r Range) Overlaps(o Range) bool {
	return r.Contains(o.Start) || o.Contains(r.Start)
}

// String is "first-last".
func (r Range) String() string { return r.Start.String() + "-" + r.End.String() }

// ParseRangeSet validates the ranges of a set, and that they are of one family
// and apart from each other.
func ParseRangeSet(wires []WireRange) (RangeSet, error) {
	if len(wires) == 0 {
		return nil, errors.New("it is empty")
	}
	set := make(RangeSet, 0, len(wires))
	for _, w := range wires {
		r, err := ParseRange(w)
		if err != nil {
			return nil, err
		}
		for _, other := range set {
			if other.Start.BitLen() != r.Start.BitLen() {
				return nil, errors.New("it mixes IPv4 and IPv6; put the families in sets of their own")
			}
			if other.Overlaps(r) {
				return nil, fmt.Errorf("%s and %s overlap", other, r)
			}
		}
		set = append(set, r)
	}
	return set, nil
}

// rangeOf finds the range that has the address.
func (s RangeSet) rangeOf(a netip.Addr) (Range, bool) {
	for _, r := range s {
		if r.Contains(a) {
			return r, true
		}
	}
	return Range{}, false
}

// Is6 tells the family of the set.
func (s RangeSet) Is6() bool { return s[0].Start.Is6() }

// String is the set's ranges, separated by commas.
func (s RangeSet) String() string {
	parts := make([]string, len(s))
	for i, r := range s {
		parts[i] = r.String()
	}
	return strings.Join(parts, ",")
}

func (s RangeSet) overlaps(o RangeSet) bool {
	for _, r := range s {
		for _, p := range o {
			if r.Overlaps(p) {
				return true
			}
		}
	}
	return false
}

// after yields every address of the set once, gateways left out, in the
// round-robin order: from the one after last, through the following ranges
// and round to last itself. A last that is not of the set starts at the front.
func (s RangeSet) after(last netip.Addr) func(yield func(Range, netip.Addr) bool) {
	first, from := 0, s[0].Start
	for i, r := range s {
		if !r.Contains(last) {
			continue
		}
		first, from = i, last.Next()
		if last == r.End {
			first = (i + 1) % len(s)
			from = s[first].Start
		}
		break
	}
	return func(yield func(Range, netip.Addr) bool) {
		for k := 0; k <= len(s); k++ {
			r := s[(first+k)%len(s)]
			start, end := r.Start, r.End
			if k == 0 {
				start = from
			}
			if k == len(s) { // the part of the first range that was left out
				if from == r.Start {
					return
				}
				end = from.Prev()
			}
			if !eachAddr(r, start, end, yield) {
				return
			}
		}
	}
}

func eachAddr(r Range, start, end netip.Addr, yield func(Range, netip.Addr) bool) bool {
	for a := start; ; a = a.Next() {
		if a != r.Gateway && !yield(r, a) {
			return false
		}
		if a == end {
			return true
		}
	}
}
