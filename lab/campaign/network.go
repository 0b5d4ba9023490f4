package campaign

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/containernetworking/cni/libcni"
)

// LoadNetwork reads a network: a list of plugins, or the configuration of one,
// which is taken as a list of one. A plugin for addresses is called as any other
// then: its configuration has its own name as type, and an ipam part, in which
// it looks.
func LoadNetwork(path string) (*libcni.NetworkConfigList, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("network: %w", err)
	}
	list, err := parseNetwork(b)
	if err != nil {
		return nil, fmt.Errorf("network %s: %w", path, err)
	}
	return list, nil
}

func parseNetwork(b []byte) (*libcni.NetworkConfigList, error) {
	var form struct {
		CNIVersion string          `json:"cniVersion"`
		Name       string          `json:"name"`
		Type       string          `json:"type"`
		Plugins    json.RawMessage `json:"plugins"`
	}
	if err := json.Unmarshal(b, &form); err != nil {
		return nil, err
	}
	if form.Plugins == nil && form.Type != "" {
		var err error
		b, err = json.Marshal(map[string]any{
			"cniVersion": form.CNIVersion, "name": form.Name, "plugins": []json.RawMessage{b},
		})
		if err != nil {
			return nil, err
		}
	}
	return libcni.NetworkConfFromBytes(b)
}
