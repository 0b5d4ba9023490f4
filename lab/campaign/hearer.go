package campaign

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/lab/inject"
)

// A heard event is one of a verb's course as it was heard.
type heard struct {
	Event
	at    Point // with an occurrence, if it is a point
	place place
}

func (h heard) String() string { return h.Program + " " + h.Text }

// A hearer hears a verb's course on a node, and makes one fault in it.
type hearer struct {
	node *node
	verb string
	norm *normaliser

	point Point // where; one without a verb is nowhere
	fault Fault
	// look finds out what could be taken away, for a trace.
	look bool

	count   *counter
	reading string // the file that the last event read
	events  []heard
	hit     int // index of the event that the fault was made at; -1
	errs    []error
}

func newHearer(n *node, verb string, norm *normaliser) *hearer {
	return &hearer{node: n, verb: verb, norm: norm, count: newCounter(), hit: -1}
}

// hook is called before each call.
func (h *hearer) hook(c *inject.Call) inject.Verdict {
	e, err := c.Event()
	if errors.Is(err, inject.ErrGone) {
		return inject.Verdict{}
	}
	if err != nil {
		h.errs = append(h.errs, err)
		return inject.Verdict{}
	}
	if e.Kind == inject.KindOther || e.Fresh && e.Kind != inject.KindExec {
		return inject.Verdict{}
	}
	now := heard{Event: h.event(e), place: place{sort: sortOf(e)}}
	if looks(e) && (now.place.sort == sortNone || h.goesOn(e)) {
		return inject.Verdict{} // a program that starts reads many files
	}
	if now.place.sort == sortNone {
		now.Point = -1
		h.events = append(h.events, now)
		return inject.Verdict{}
	}
	now.at = h.count.next(h.verb, now.Plugin, now.Program, now.Text)
	if h.look {
		now.place.sort = h.node.really(e, now.place.sort)
		now.place.gone = h.node.target(e).there()
		now.place.again = h.node.repeatable(e, now.place.sort)
		if h.verb == verbDel {
			now.place.scenes = h.node.scenesAt(e)
		}
	}
	h.events = append(h.events, now)
	if h.lasts(now) {
		return h.fault.verdict
	}
	if h.hit >= 0 || now.at != h.point {
		return inject.Verdict{}
	}
	h.hit = len(h.events) - 1
	switch {
	case h.fault.gone:
		err = h.node.takeAway(h.node.target(e))
	case h.fault.again:
		err = h.node.repeat(c, e)
	case h.fault.scene != nil:
		err = h.node.rename(e)
	}
	if err != nil {
		h.errs = append(h.errs, err)
	}
	return h.fault.verdict
}

// lasts tells whether the fault is still there: who may not open a namespace may
// not open it a moment later either, and a second try must not hide what the
// first one came to.
func (h *hearer) lasts(now heard) bool {
	return h.hit >= 0 && h.fault.verdict.Errno == unix.EACCES && now.place.sort == sortSpaceOf &&
		now.Plugin == h.point.Plugin && now.Text == h.point.Text
}

// goesOn tells whether a read goes on with the file that was read last: the whole
// of it is one look.
func (h *hearer) goesOn(e inject.Event) bool {
	now := ""
	if sortOf(e) == sortRead {
		now = e.Path
	}
	before := h.reading
	h.reading = now
	return now != "" && now == before
}

func (h *hearer) event(e inject.Event) Event {
	text := e.Text
	if e.Kind == inject.KindNetlink {
		text = strings.TrimSpace(text + " " + h.node.where(e.Netns))
	}
	return Event{Plugin: h.node.runner.plugin, Program: e.Program, Text: h.norm.normalise(text)}
}

// during hears a call of a runtime. The second error is the lab's own.
func (h *hearer) during(call func() error) (err, lost error) {
	r := h.node.runner
	r.hook, r.lost = h.hook, nil
	err = call()
	r.hook = nil
	return err, errors.Join(append(h.errs, r.lost...)...)
}
