package cni

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/fairlead-net/fairlead/attachment"
)

// Verb is CNI_COMMAND.
type Verb string

// The verbs of the CNI specification 1.1.0.
const (
	Add     Verb = "ADD"
	Del     Verb = "DEL"
	Check   Verb = "CHECK"
	Status  Verb = "STATUS"
	GC      Verb = "GC"
	Version Verb = "VERSION"
)

// stdinMax bounds the configuration: 16 MiB. A runtime's prevResult has some
// kilobytes, the valid attachments of a GC a hundred bytes each.
const stdinMax = 16 << 20

// Request is one call, decoded and validated.
type Request struct {
	Verb        Verb
	ContainerID string
	Netns       string // a path; "" where none was given
	IfName      string
	Args        string   // CNI_ARGS as given
	Path        []string // CNI_PATH, split
	Stdin       []byte   // the configuration as given
	Conf        Conf
}

// ID is the attachment's identity.
func (r *Request) ID() attachment.ID {
	return attachment.ID{Network: r.Conf.Name, Container: r.ContainerID, IfName: r.IfName}
}

// Decode reads the configuration into v; errors have their CNI code.
func (r *Request) Decode(v any) error { return decode(r.Stdin, v) }

// Removes tells that the call only takes away: what ADD refuses, or has come to,
// must not keep what is there. JSON of a wrong type is refused all the same.
func (r *Request) Removes() bool { return r.Verb == Del || r.Verb == GC }

// Arg reads a key of CNI_ARGS ("KEY=VALUE;KEY=VALUE"), in any case. Keys that
// nobody asks for are ignored, whatever they are (rule 22).
func (r *Request) Arg(key string) string {
	value := ""
	for pair := range strings.SplitSeq(r.Args, ";") {
		k, v, ok := strings.Cut(pair, "=")
		if ok && strings.EqualFold(k, key) {
			value = v
		}
	}
	return value
}

// Called tells whether the environment is that of a CNI call, whole or not.
// CNI_PATH alone is not: operators set it too.
func Called(getenv func(string) string) bool {
	for _, name := range []string{"CNI_COMMAND", "CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_ARGS"} {
		if getenv(name) != "" {
			return true
		}
	}
	return false
}

// noPlugin is the answer to any verb under a name that is none of our plugins':
// of one that another version has, or of one that never was.
func noPlugin(name string, verb Verb) error {
	code := CodeNoPlugin
	if verb == Status {
		code = CodeNotAvailable
	}
	return Errorf(code, "%s: this binary of Fairlead has no plugin %q, so nothing was done ('fairlead version' lists those it has)", verb, name)
}

// readRequest decodes environment and stdin.
func readRequest(getenv func(string) string, stdin io.Reader) (r *Request, err error) {
	r = &Request{}
	defer func() {
		if p := recover(); p != nil {
			err = Errorf(CodeInternal, "read the request: panic: %v", p)
		}
	}()
	*r = Request{
		Verb:        Verb(getenv("CNI_COMMAND")),
		ContainerID: getenv("CNI_CONTAINERID"),
		Netns:       getenv("CNI_NETNS"),
		IfName:      getenv("CNI_IFNAME"),
		Args:        getenv("CNI_ARGS"),
	}
	if path := getenv("CNI_PATH"); path != "" {
		r.Path = filepath.SplitList(path)
	}
	if r.Stdin, err = io.ReadAll(io.LimitReader(stdin, stdinMax+1)); err != nil {
		return r, Errorf(CodeIO, "read the configuration from stdin: %w", err)
	}
	if len(r.Stdin) > stdinMax {
		return r, Errorf(CodeDecode, "the configuration on stdin is over %d bytes", stdinMax)
	}
	return r, r.validate()
}

// validate checks the environment and decodes the configuration. It is all that
// stands before a plugin's own validation; nothing has been touched yet.
func (r *Request) validate() error {
	if r.Verb == Version {
		return nil
	}
	if err := r.checkEnv(); err != nil {
		return err
	}
	var err error
	r.Conf, err = parseConf(r.Stdin, r.Verb)
	return err
}

func (r *Request) checkEnv() error {
	var missing []string
	want := func(name, value string) {
		if value == "" {
			missing = append(missing, name)
		}
	}
	switch r.Verb {
	case Add, Check:
		want("CNI_CONTAINERID", r.ContainerID)
		want("CNI_NETNS", r.Netns)
		want("CNI_IFNAME", r.IfName)
	case Del:
		want("CNI_CONTAINERID", r.ContainerID)
		want("CNI_IFNAME", r.IfName)
	case GC, Status:
	case "":
		return Errorf(CodeEnvironment, "CNI_COMMAND is missing in the environment")
	default:
		return Errorf(CodeEnvironment, "CNI_COMMAND %q is none of ADD, DEL, CHECK, STATUS, GC, VERSION", r.Verb)
	}
	if len(missing) > 0 {
		return Errorf(CodeEnvironment, "%s needs %s in the environment", r.Verb, strings.Join(missing, ", "))
	}
	if r.Verb == GC || r.Verb == Status {
		return nil
	}
	if err := ValidateContainerID(r.ContainerID); err != nil {
		return err
	}
	if err := ValidateIfName(r.IfName); err != nil {
		return Errorf(CodeEnvironment, "CNI_IFNAME: %w", err)
	}
	return nil
}
