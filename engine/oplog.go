package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
)

// The operation log is ROOT/log, and ROOT/log.1 before it (rule 23).
const (
	// logMax is the size, 1 MiB, from which on the log is put aside as log.1.
	logMax = 1 << 20
	// logErrorMax is what is kept of an error's text: 1 KiB.
	logErrorMax = 1 << 10
	// logNameMax is what is kept of a name: it may be a request's that was
	// refused for it.
	logNameMax = 255
	// logReadMax bounds what is read of one file, should it have outgrown us.
	logReadMax = 4 * logMax
)

// OpRecord is one call, as the operation log keeps it: one line of JSON.
type OpRecord struct {
	Time     time.Time     `json:"time"`
	Verb     string        `json:"verb"`
	ID       attachment.ID `json:"attachment"`
	Plugin   string        `json:"plugin"`
	Duration time.Duration `json:"ns"`
	// Outcome is a word of the caller's: "ok", "failed".
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"` // at most 1 KiB
}

func (j *Journal) logPath() string { return filepath.Join(j.root, "log") }

// Log appends one record, in one write, so that processes don't mix their
// lines. It waits for nobody.
func (j *Journal) Log(rec OpRecord) error {
	rec = bounded(rec)
	data, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("encode operation log: %w", err)
	}
	f, err := j.openLog()
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write operation log: %w", err)
	}
	return nil
}

// bounded cuts off what is too long for the log.
func bounded(rec OpRecord) OpRecord {
	rec.Error = cutText(rec.Error, logErrorMax)
	for _, name := range []*string{&rec.Verb, &rec.Plugin, &rec.ID.Network, &rec.ID.Container, &rec.ID.IfName} {
		*name = cutText(*name, logNameMax)
	}
	return rec
}

// Repeats tells whether the last record of the same verb, plugin and attachment
// says the same as this one. A log that can't be read says nothing.
func (j *Journal) Repeats(rec OpRecord) bool {
	rec = bounded(rec)
	list, err := j.History(0)
	if err != nil {
		return false
	}
	for _, last := range slices.Backward(list) {
		if last.Verb == rec.Verb && last.Plugin == rec.Plugin && last.ID == rec.ID {
			return last.Outcome == rec.Outcome && last.Error == rec.Error
		}
	}
	return false
}

// openLog opens the log for appending, after putting a full one aside.
func (j *Journal) openLog() (*os.File, error) {
	for {
		f, err := os.OpenFile(j.logPath(), os.O_WRONLY|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open operation log: %w", err)
		}
		info, err := f.Stat()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("look at operation log: %w", err), f.Close())
		}
		if info.Size() < logMax {
			return f, nil
		}
		put, err := j.rotate(f)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if !put {
			return f, nil
		}
		_ = f.Close()
	}
}

// rotate puts the open log aside. Of several processes only one does it, by the
// lock on the file itself; who finds it taken appends to the old one (put is
// false), which is being renamed.
func (j *Journal) rotate(f *os.File) (put bool, err error) {
	err = flockNow(f, unix.LOCK_EX)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock operation log: %w", err)
	}
	same, err := stillAt(f, j.logPath())
	if err == nil && same {
		err = os.Rename(j.logPath(), j.logPath()+".1")
	}
	if err != nil {
		return false, fmt.Errorf("put operation log aside: %w", err)
	}
	return true, nil
}

// History gives the last records, at most limit, the newest last; all, where
// limit is 0. Lines that can't be read are left out.
func (j *Journal) History(limit int) ([]OpRecord, error) {
	older, newer, err := j.readLogs()
	if err != nil {
		return nil, err
	}
	var list []OpRecord
	for _, raw := range bytes.Split(append(older, newer...), []byte{'\n'}) {
		if rec, ok := decodeOp(raw); ok {
			list = append(list, rec)
		}
	}
	if limit > 0 && len(list) > limit {
		list = list[len(list)-limit:]
	}
	return list, nil
}

// readLogs reads both files. The newer is opened first: if it was put aside in
// between, both are one, and all begins again.
func (j *Journal) readLogs() (older, newer []byte, err error) {
	for {
		now, err := openForReading(j.logPath())
		if err != nil {
			return nil, nil, err
		}
		before, err := openForReading(j.logPath() + ".1")
		if err != nil {
			return nil, nil, errors.Join(err, closeFile(now))
		}
		same, err := sameFile(now, before)
		if err == nil && !same {
			older, err = readFile(before)
		}
		if err == nil && !same {
			newer, err = readFile(now)
		}
		err = errors.Join(err, closeFile(now), closeFile(before))
		if err != nil {
			return nil, nil, fmt.Errorf("read operation log: %w", err)
		}
		if !same {
			return older, newer, nil
		}
	}
}

// openForReading gives nil where there is no such file.
func openForReading(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open operation log: %w", err)
	}
	return f, nil
}

func closeFile(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

func sameFile(a, b *os.File) (bool, error) {
	if a == nil || b == nil {
		return false, nil
	}
	x, err := a.Stat()
	if err != nil {
		return false, err
	}
	y, err := b.Stat()
	if err != nil {
		return false, err
	}
	return os.SameFile(x, y), nil
}

func readFile(f *os.File) ([]byte, error) {
	if f == nil {
		return nil, nil
	}
	return io.ReadAll(io.LimitReader(f, logReadMax))
}

// decodeOp reads a line. One that was torn has the next glued to it, which is
// whole.
func decodeOp(raw []byte) (rec OpRecord, ok bool) {
	if start := bytes.LastIndex(raw, []byte(`{"time":`)); start > 0 {
		raw = raw[start:]
	}
	return rec, json.Unmarshal(raw, &rec) == nil && !rec.Time.IsZero()
}

// cutText cuts between characters, not within one.
func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
