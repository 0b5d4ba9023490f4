package cni

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/resource"
)

// Runner has what a call needs from outside. Nothing in it is touched before a
// call is made.
type Runner struct {
	// Plugins finds a plugin of ours by name.
	Plugins func(name string) (Plugin, bool)
	// Kinds are the codecs of all kinds, less the delegate's.
	Kinds func() map[string]func() resource.Resource
	// Getenv and Environ are the process's environment.
	Getenv  func(string) string
	Environ []string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
}

// Main acts as the plugin of that name, once, and gives the exit status. What
// the protocol prints is printed last.
func (r *Runner) Main(name string) int {
	plugin, ok := r.Plugins(name)
	if ok && !Called(r.Getenv) {
		fmt.Fprintf(r.stderr(), "%s: %s\nA CNI plugin: a container runtime calls it with CNI_COMMAND in its environment.\nCNI protocol versions: %s\n",
			plugin.Name, plugin.About, strings.Join(versions(), ", "))
		return 0
	}
	start := time.Now()
	req, err := readRequest(r.Getenv, r.Stdin)
	if !ok {
		// Whatever else is wrong with the request: nobody is here to carry it out.
		err = noPlugin(name, req.Verb)
	}
	if err != nil {
		r.logRefused(start, name, req, err)
		return r.fail(req, err)
	}
	if req.Verb == Version {
		return r.print(versionObject(req.Stdin))
	}
	result, err := r.run(context.Background(), plugin, req)
	if err != nil {
		return r.fail(req, err)
	}
	if result == nil {
		return 0
	}
	return r.printResult(plugin, req, result)
}

// printResult is the last step of ADD. A result that nobody could read is an
// ADD that failed.
func (r *Runner) printResult(plugin Plugin, req *Request, result *current.Result) int {
	out, err := asVersion(result, req.Conf.CNIVersion)
	if err == nil {
		var data []byte
		if data, err = json.MarshalIndent(out, "", "    "); err == nil {
			_, err = r.Stdout.Write(append(data, '\n'))
		}
	}
	if err == nil {
		return 0
	}
	undo := *req
	undo.Verb = Del
	_, undoErr := r.run(context.Background(), plugin, &undo)
	if undoErr != nil {
		fmt.Fprintf(r.stderr(), "undo an ADD whose result could not be printed: %v\n", undoErr)
	}
	return r.fail(req, Errorf(CodeIO, "print the result: %w", err))
}

// fail prints the error object; cniVersion is always in it (rule 21).
func (r *Runner) fail(req *Request, err error) int {
	version := versionOf(req.Stdin)
	e := object(err)
	r.print(struct {
		CNIVersion string `json:"cniVersion"`
		*types.Error
	}{version, e})
	return 1
}

func (r *Runner) print(v any) int {
	data, err := json.MarshalIndent(v, "", "    ")
	if err == nil {
		_, err = r.Stdout.Write(append(data, '\n'))
	}
	if err != nil {
		fmt.Fprintf(r.stderr(), "print the answer: %v\n", err)
		return 1
	}
	return 0
}

// versionOf is the cniVersion of an input, whatever else is wrong with it.
func versionOf(stdin []byte) string {
	var v struct {
		CNIVersion string `json:"cniVersion"`
	}
	if json.Unmarshal(stdin, &v) != nil || v.CNIVersion == "" {
		all := versions()
		return all[len(all)-1]
	}
	return v.CNIVersion
}

func versionObject(stdin []byte) any {
	return struct {
		CNIVersion        string   `json:"cniVersion"`
		SupportedVersions []string `json:"supportedVersions"`
	}{versionOf(stdin), versions()}
}

// inProcess makes a delegate's call in this process, with the same validation
// as by execution. A panic in it becomes its error (rule 22).
func (r *Runner) inProcess(ctx context.Context, plugin Plugin, req *Request, from *call) (*current.Result, error) {
	if err := req.validate(); err != nil {
		return nil, err
	}
	result, err := r.runFrom(ctx, plugin, req, from)
	if err != nil || result == nil {
		return nil, err
	}
	// What a version can't say is not heard by execution either.
	said, err := asVersion(result, req.Conf.CNIVersion)
	if err != nil {
		return nil, err
	}
	return current.NewResultFromResult(said)
}

// run makes one call, logs it, and turns a panic into an error.
func (r *Runner) run(ctx context.Context, plugin Plugin, req *Request) (*current.Result, error) {
	return r.runFrom(ctx, plugin, req, nil)
}

func (r *Runner) runFrom(ctx context.Context, plugin Plugin, req *Request, from *call) (result *current.Result, err error) {
	start := time.Now()
	c := &call{runner: r, plugin: plugin, req: req, from: from}
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(r.stderr(), "%s %s: panic: %v\n%s", plugin.Name, req.Verb, p, debug.Stack())
			result, err = nil, Errorf(CodeInternal, "%s %s: panic: %v", plugin.Name, req.Verb, p)
		}
		if err != nil {
			err = withCode(Code(err), err)
		}
		c.log(start, err)
	}()
	c.open()
	return c.do(ctx)
}

// call is one verb of one plugin for one request.
type call struct {
	runner *Runner
	plugin Plugin
	req    *Request
	hash   string

	engine  *engine.Engine[resource.Env]
	noState error // why there is no journal
	caller  *caller

	// from is the call whose delegate this one is, in its process: what that has
	// found and opened serves this one too.
	from   *call
	opened *opened
	// forced is a GC for which an operator takes the word that what is not valid
	// may go.
	forced bool
}

// opened are the namespaces that a call has open to its end.
type opened struct {
	path    string
	env     resource.Env
	absence string
}

// open finds the state directory and puts the engine together. That there is
// none is for each verb to judge (rule 19).
func (c *call) open() {
	c.caller = &caller{runner: c.runner, path: c.req.Path, now: c.req, from: c}
	c.engine = &engine.Engine[resource.Env]{Codec: c.codec(), Enter: c.enter}
	if c.from != nil {
		c.engine.Journal, c.noState, c.opened = c.from.engine.Journal, c.from.noState, c.from.opened
		return
	}
	c.engine.Journal, c.noState = openJournal(c.runner.Getenv)
}

// openJournal finds the state directory.
func openJournal(getenv func(string) string) (*engine.Journal, error) {
	root, err := engine.FindStateDir(engine.StateDirs(getenv))
	if err != nil {
		return nil, err
	}
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	return engine.OpenJournal(root, boot), nil
}

func (c *call) codec() engine.Codec[resource.Env] {
	return codec(c.runner.Kinds(), c.caller)
}

// ReadingCodec decodes what plugins record, to be looked at: delegates it
// reads can't be called.
func ReadingCodec(kinds map[string]func() resource.Resource) engine.Codec[resource.Env] {
	return codec(kinds, nil)
}

func codec(kinds map[string]func() resource.Resource, c *caller) engine.Codec[resource.Env] {
	codec := engine.Codec[resource.Env]{delegateKind: func() resource.Resource { return &delegate{caller: c} }}
	maps.Copy(codec, kinds)
	return codec
}

func bootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("%w: read the boot id: %w", engine.ErrStateUnknown, err)
	}
	return strings.TrimSpace(string(id)), nil
}

func (c *call) do(ctx context.Context) (*current.Result, error) {
	switch c.req.Verb {
	case Add:
		return c.add(ctx)
	case Del:
		return nil, c.del(ctx)
	case Check:
		return nil, c.check(ctx)
	case Status:
		return nil, c.status(ctx)
	case GC:
		return nil, c.gc(ctx)
	default:
		return nil, Errorf(CodeEnvironment, "CNI_COMMAND %q is not known", c.req.Verb)
	}
}

// warn is for what a person should know and the protocol has no place for.
func (c *call) warn(format string, args ...any) {
	c.runner.warn(c.plugin.Name, format, args...)
}

func (r *Runner) warn(name, format string, args ...any) {
	fmt.Fprintf(r.stderr(), name+": "+format+"\n", args...)
}

func (c *call) warnText(text string) { c.warn("%s", text) }
