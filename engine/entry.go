package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
)

// Format is the version of the entries that we write. We read it and the one
// before (rule 1).
const Format = 1

// entryMax bounds what is read of one entry: 4 MiB. A plan has some dozens of
// resources of some hundred bytes.
const entryMax = 4 << 20

// intentMax bounds an entry when something more is intended: what is learned of
// it, and said while it is made, must find room too.
const intentMax = entryMax / 2

// Header is an entry's first line: whose it is and where it acts.
type Header struct {
	Format int           `json:"format"`
	ID     attachment.ID `json:"attachment"`
	// Plugin is the name that the call was made by; Hash tells two calls of
	// one plugin in a chain apart.
	Plugin string `json:"plugin"`
	Hash   string `json:"hash"`
	// Boot is the kernel's boot_id; Scope the identity of the container's
	// namespace within that boot (SO_NETNS_COOKIE); Netns its path.
	Boot  string `json:"boot"`
	Scope string `json:"scope,omitempty"`
	Netns string `json:"netns,omitempty"`
	// Place is where Netns means what it did at ADD: elsewhere it proves nothing
	// that it leads nowhere. It is "" where Netns is another thing to each
	// process, where Place could not be found out, and in entries of earlier
	// versions.
	Place string `json:"place,omitempty"`
	// Created is for people. Nothing is removed on its word alone: it may keep
	// what seems abandoned from being taken for that.
	Created time.Time `json:"created"`
}

// line is any line of an entry. Each is whole, or was never acted upon.
type line struct {
	Header *Header                    `json:"entry,omitempty"`
	Facts  map[string]json.RawMessage `json:"facts,omitempty"`
	// Intend and Learned number the resources from 1, in order of creation.
	Intend  int `json:"intend,omitempty"`
	Learned int `json:"learned,omitempty"`
	// Try says that making the resource begins; without it nothing was done
	// for it. Void says that it came to nothing.
	Try  int             `json:"try,omitempty"`
	Void int             `json:"void,omitempty"`
	Kind string          `json:"kind,omitempty"`
	Body json.RawMessage `json:"body,omitempty"`
	Done bool            `json:"done,omitempty"`
	// Undo says that removal began: what was done is in force no more.
	Undo bool `json:"undo,omitempty"`
	// Lock names a lock that is about to be taken, whose file a crash may leave.
	Lock string `json:"lock,omitempty"`
}

// Entry is one plugin call's record, locked by whoever holds it.
type Entry struct {
	Header Header
	Facts  map[string]json.RawMessage
	Done   bool

	finished bool
	records  []record
	locks    []string
	name     string // within the attachment's directory: SEQ-PLUGIN-HASH
	dir      string
	file     *os.File
	size     int64 // of the whole lines
	lock     *Lock
}

type record struct {
	kind string
	body json.RawMessage
	// tried is what DEL goes by: what was never tried may be another's.
	tried bool
}

func (e *Entry) record(n int) *record {
	if n < 1 || n > len(e.records) {
		return nil
	}
	return &e.records[n-1]
}

// Finished tells that the ADD came to its end, so that the entry has all that it
// made. One that was cut looks like that of a call that died.
func (e *Entry) Finished() bool { return e.finished }

// Name tells the entry apart within its attachment.
func (e *Entry) Name() string { return e.name }

// entryName makes the file's name; parseEntryName reads it.
func entryName(seq int, plugin, hash string) string {
	return fmt.Sprintf("%06d-%s-%s", seq, plugin, hash)
}

func parseEntryName(name string) (seq int, plugin, hash string, ok bool) {
	number, rest, found := strings.Cut(name, "-")
	cut := strings.LastIndexByte(rest, '-')
	if !found || cut < 1 {
		return 0, "", "", false
	}
	seq, err := strconv.Atoi(number)
	if err != nil || seq < 1 {
		return 0, "", "", false
	}
	return seq, rest[:cut], rest[cut+1:], true
}

// checkEntryName tells whether the two parts can be told apart again.
func checkEntryName(plugin, hash string) error {
	_, p, h, ok := parseEntryName(entryName(1, plugin, hash))
	if !ok || p != plugin || h != hash || strings.Contains(plugin+hash, "/") {
		return fmt.Errorf("journal entry of plugin %q, hash %q: no good name for a file", plugin, hash)
	}
	return nil
}

func (e *Entry) append(lines ...line) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			return fmt.Errorf("encode journal entry %s: %w", e.name, err)
		}
	}
	limit := int64(entryMax)
	if len(lines) > 0 && (lines[0].Intend > 0 || lines[0].Facts != nil) {
		limit = intentMax
	}
	if size := e.size + int64(buf.Len()); size > limit {
		return fmt.Errorf("write journal entry %s: %d bytes, at most %d: %w", e.name, size, limit, ErrTooLarge)
	}
	if _, err := e.file.Write(buf.Bytes()); err != nil {
		// A half line would spoil those that follow it.
		return errors.Join(fmt.Errorf("write journal entry %s: %w", e.file.Name(), err), e.file.Truncate(e.size))
	}
	e.size += int64(buf.Len())
	return nil
}

// errEmpty is an entry whose writer died before its first line was whole: it
// had done nothing yet.
var errEmpty = errors.New("empty entry")

// decode reads the whole entry. A last line without its end was being written
// when the writer died, and nothing had been done for it.
func (e *Entry) decode() error {
	if _, err := e.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read journal entry %s: %w", e.file.Name(), err)
	}
	data, err := io.ReadAll(io.LimitReader(e.file, entryMax+1))
	if err != nil {
		return fmt.Errorf("read journal entry %s: %w", e.file.Name(), err)
	}
	if len(data) > entryMax {
		return fmt.Errorf("%w: %s is over %d bytes", ErrUnreadable, e.file.Name(), entryMax)
	}
	whole, err := e.parse(data)
	if errors.Is(err, errEmpty) {
		return err
	}
	if err != nil {
		return fmt.Errorf("journal entry %s, %w", e.file.Name(), err)
	}
	return e.truncateTo(int64(whole), int64(len(data)))
}

// parse reads the whole lines of data, and tells how long they are together.
func (e *Entry) parse(data []byte) (whole int, err error) {
	whole = bytes.LastIndexByte(data, '\n') + 1
	if whole == 0 {
		return 0, errEmpty
	}
	e.records, e.locks, e.Facts, e.Done, e.finished = nil, nil, nil, false, false
	for n, raw := range bytes.Split(data[:whole-1], []byte{'\n'}) {
		if err := e.decodeLine(n, raw); err != nil {
			return 0, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return whole, nil
}

// truncateTo cuts a torn last line off, so that the next one starts afresh.
func (e *Entry) truncateTo(whole, size int64) error {
	e.size = whole
	if whole == size || e.lock == nil {
		return nil
	}
	if err := e.file.Truncate(whole); err != nil {
		return fmt.Errorf("cut torn line of journal entry %s: %w", e.file.Name(), err)
	}
	return nil
}

func (e *Entry) decodeLine(n int, raw []byte) error {
	var l line
	if err := json.Unmarshal(raw, &l); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	switch {
	case n == 0 && l.Header == nil:
		return fmt.Errorf("%w: no header", ErrUnreadable)
	case n == 0 && l.Header.Format > Format:
		return fmt.Errorf("format %d: %w", l.Header.Format, ErrNewer)
	case n == 0 && l.Header.Format < max(1, Format-1):
		return fmt.Errorf("%w: format %d", ErrUnreadable, l.Header.Format)
	case n == 0:
		e.Header = *l.Header
	case l.Facts != nil:
		e.Facts = l.Facts
	case l.Intend == len(e.records)+1 && isObject(l.Body):
		e.records = append(e.records, record{kind: l.Kind, body: l.Body})
	case e.record(l.Learned) != nil && isObject(l.Body):
		e.record(l.Learned).body = l.Body
	case e.record(l.Try) != nil:
		e.record(l.Try).tried = true
	case e.record(l.Void) != nil:
		e.record(l.Void).tried = false
	case l.Done:
		e.Done, e.finished = true, true
	case l.Undo:
		e.Done = false
	case l.Lock != "":
		e.locks = append(e.locks, l.Lock)
	default:
		return fmt.Errorf("%w: unexpected line", ErrUnreadable)
	}
	return nil
}

// isObject keeps null, which fills nothing, from passing for a resource.
func isObject(body json.RawMessage) bool { return len(body) > 0 && body[0] == '{' }

// remove takes the entry off the disk: what it recorded is gone. The lock is
// held until after, so that no one acts on the file in between.
func (e *Entry) remove() error {
	defer e.Close()
	if err := os.Remove(e.file.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove journal entry: %w", err)
	}
	return rmdirEmpty(e.dir)
}

// rmdirEmpty removes a directory; that others have something in it, or that it
// is gone, is no error.
func rmdirEmpty(dir string) error {
	err := retryEINTR(func() error { return unix.Rmdir(dir) })
	switch {
	case err == nil, errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EEXIST):
		return nil
	}
	return fmt.Errorf("remove directory %s: %w", dir, err)
}

// Close lets go of the entry and leaves it on the disk. A second call does
// nothing.
func (e *Entry) Close() {
	if e.lock != nil {
		e.lock.Unlock()
		e.lock = nil
		return
	}
	_ = e.file.Close()
}
