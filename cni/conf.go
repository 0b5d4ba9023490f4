package cni

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/types/create"
)

// Conf has the keys that every configuration may have.
type Conf struct {
	CNIVersion string `json:"cniVersion"`
	Name       string `json:"name"`
	Type       string `json:"type"`
	IPAM       struct {
		Type string `json:"type"`
	} `json:"ipam"`
	DNS types.DNS `json:"dns"`
	// RawPrevResult is nil where there is none; PrevResult is its decoded form.
	RawPrevResult json.RawMessage `json:"prevResult"`
	PrevResult    *current.Result `json:"-"`
	// Valid is the set of a GC. Absent and null are the empty list (rule 15).
	Valid []types.GCAttachment `json:"cni.dev/valid-attachments"`
	// Attachments is the same by the name that the specification had first.
	// Runtimes give either or both: what any of them names is valid.
	Attachments []types.GCAttachment `json:"cni.dev/attachments"`
}

// parseConf decodes and validates the common keys.
func parseConf(stdin []byte, verb Verb) (Conf, error) {
	var c Conf
	if err := decode(stdin, &c); err != nil {
		return c, err
	}
	c.Valid = append(c.Valid, c.Attachments...)
	if c.CNIVersion == "" {
		c.CNIVersion = implicitVersion
	}
	if err := checkVersion(c.CNIVersion, verb); err != nil {
		return c, err
	}
	if err := ValidateNetworkName(c.Name); err != nil {
		return c, err
	}
	if strings.ContainsRune(c.IPAM.Type, '/') {
		return c, Errorf(CodeConfig, "ipam.type %q is no plugin's name", c.IPAM.Type)
	}
	return c, c.parsePrevResult(verb)
}

func (c *Conf) parsePrevResult(verb Verb) error {
	if isNull(c.RawPrevResult) {
		c.RawPrevResult = nil
		return nil
	}
	result, err := parseResult(c.RawPrevResult, c.CNIVersion)
	if err != nil {
		if verb == Del {
			return nil // DEL does without (spec 2)
		}
		return Errorf(CodeDecode, "prevResult: %w", err)
	}
	c.PrevResult = result
	return nil
}

func isNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// parseResult reads a result of any version. One that names none, as many plugins
// and runtimes print, has the configuration's, whatever that is.
func parseResult(raw []byte, version string) (*current.Result, error) {
	var v struct {
		CNIVersion string `json:"cniVersion"`
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	if v.CNIVersion != "" {
		version = v.CNIVersion
	} else {
		var err error
		if raw, err = withVersion(raw, version); err != nil {
			return nil, err
		}
	}
	any, err := create.Create(version, raw)
	if err != nil {
		return nil, err
	}
	return current.NewResultFromResult(any)
}

// withVersion is the result with the version: the decoder of each version wants
// to see it.
func withVersion(raw []byte, version string) ([]byte, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	for key := range m {
		if strings.EqualFold(key, "cniVersion") {
			delete(m, key) // the decoder takes it in any case, and the last one
		}
	}
	if m == nil {
		return nil, errors.New("null is no result")
	}
	var err error
	if m["cniVersion"], err = json.Marshal(version); err != nil {
		return nil, err
	}
	return json.Marshal(m)
}

// decode reads JSON into v. What is no JSON, or has the wrong type in a known
// field, is code 6; unknown fields are fine.
func decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return Errorf(CodeDecode, "configuration: field %q is a %s where a %s is wanted", wrong.Field, wrong.Value, wrong.Type)
	default:
		return Errorf(CodeDecode, "configuration: %w", err)
	}
}

// hashConf tells two calls of one plugin in a chain apart, and is the same from
// ADD to DEL: what the runtime changes between them is left out (rule 1).
func hashConf(stdin []byte) (string, error) {
	var m map[string]any
	dec := json.NewDecoder(bytes.NewReader(stdin))
	dec.UseNumber()
	if err := dec.Decode(&m); err != nil {
		return "", Errorf(CodeDecode, "configuration: %w", err)
	}
	for key := range m {
		if key == "prevResult" || key == "runtimeConfig" || key == "args" || key == "cniVersion" || strings.HasPrefix(key, "cni.dev/") {
			delete(m, key)
		}
	}
	canonical, err := json.Marshal(m) // keys come out sorted, at every depth
	if err != nil {
		return "", Errorf(CodeDecode, "configuration: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:8]), nil
}
