package cni

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/containernetworking/cni/pkg/types"
	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/program"
)

// What invoke.RawExec does is done here anew, for two reasons: a delegate keeps
// the locks that it works under (case 30), and that it could not be started keeps its
// errno.

// beingWritten is how often, and how long apart, a delegate is tried whose file
// is being written, as the reference does.
const (
	beingWrittenTries = 6
	beingWrittenWait  = time.Second
)

// exec runs another's binary. Its environment is ours, TRACEPARENT and all,
// with the CNI variables of the request.
func (c *caller) exec(ctx context.Context, path string, req *Request) ([]byte, error) {
	env := delegateEnv(c.runner.Environ, req, path)
	for try := 1; ; try++ {
		var out, said bytes.Buffer
		cmd := program.Command(ctx, path)
		cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, bytes.NewReader(req.Stdin), &out, &said
		err := cmd.Run()
		if err == nil {
			_, _ = said.WriteTo(c.runner.stderr()) // for people only
			return out.Bytes(), nil
		}
		if errors.Is(err, unix.ETXTBSY) && try < beingWrittenTries {
			select {
			case <-time.After(beingWrittenWait):
				continue
			case <-ctx.Done():
			}
		}
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = delegateError(err, out.Bytes(), said.Bytes())
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
}

// delegateError is what a delegate that failed said: its error object, else its
// standard error, else how it ended.
func delegateError(err error, stdout, stderr []byte) error {
	object := &types.Error{}
	switch {
	case len(stdout) == 0 && len(stderr) == 0:
		object.Msg = fmt.Sprintf("netplugin failed with no error message: %v", err)
	case len(stdout) == 0:
		object.Msg = fmt.Sprintf("netplugin failed: %q", stderr)
	default:
		if perr := json.Unmarshal(stdout, object); perr != nil {
			object.Msg = fmt.Sprintf("netplugin failed but error parsing its diagnostic message %q: %v", stdout, perr)
		}
	}
	return object
}
