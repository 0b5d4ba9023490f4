package cni

import (
	"net"
	"strings"
	"unicode"
)

// The names come from strangers and become names of files and links. The rules
// are those of the CNI specification, section "Parameters", and of the kernel's
// dev_valid_name; lengths keep a name within one path component.
const (
	nameMax   = 255 // NAME_MAX, less nothing: a network's name is a directory of host-local
	ifNameMax = 15  // IFNAMSIZ less the terminating zero
)

func validWord(s string) bool {
	for i, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || c != '_' && c != '.' && c != '-') {
			return false
		}
	}
	return s != "" && len(s) <= nameMax
}

// ValidateContainerID checks CNI_CONTAINERID: a letter or digit, then those,
// underscores, dots and hyphens, 255 at most.
func ValidateContainerID(id string) error {
	if !validWord(id) {
		return Errorf(CodeEnvironment, "CNI_CONTAINERID %q: wants a letter or digit, then letters, digits, '_', '.' or '-', at most %d", id, nameMax)
	}
	return nil
}

// ValidateNetworkName checks the name of a configuration, likewise.
func ValidateNetworkName(name string) error {
	if name == "" {
		return Errorf(CodeConfig, "the configuration has no name")
	}
	if !validWord(name) {
		return Errorf(CodeConfig, "network name %q: wants a letter or digit, then letters, digits, '_', '.' or '-', at most %d", name, nameMax)
	}
	return nil
}

// ValidateIfName checks a link's name as the kernel does.
func ValidateIfName(name string) error {
	switch {
	case name == "":
		return Errorf(CodeConfig, "an interface name is empty")
	case len(name) > ifNameMax:
		return Errorf(CodeConfig, "interface name %q has %d bytes, over the %d that the kernel allows", name, len(name), ifNameMax)
	case name == "." || name == "..":
		return Errorf(CodeConfig, "interface name %q is not allowed", name)
	case strings.ContainsFunc(name, badInIfName):
		return Errorf(CodeConfig, "interface name %q has '/', ':', white space or a control character", name)
	}
	return nil
}

func badInIfName(r rune) bool {
	return r == '/' || r == ':' || unicode.IsSpace(r) || unicode.IsControl(r)
}

// ParseMAC takes a MAC address of an Ethernet interface, or "" for none: 6
// bytes, and one interface's, not a group's.
func ParseMAC(text string) (net.HardwareAddr, error) {
	if text == "" {
		return nil, nil
	}
	mac, err := net.ParseMAC(text)
	if err != nil {
		return nil, Errorf(CodeConfig, "MAC address %q: %w", text, err)
	}
	if len(mac) != 6 || mac[0]&1 != 0 {
		return nil, Errorf(CodeConfig, "MAC address %q is not that of one Ethernet interface", text)
	}
	return mac, nil
}
