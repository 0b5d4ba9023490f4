package resource

// AnyMTU has ExpectLink take whatever MTU the link has.
const AnyMTU = -1

// TunedElsewhere tells whether another suite's plugin, later in the list, gave
// the interface another MTU (rule 14). Its result says nothing of that, but it
// keeps the old one in its file, which is here unless its configuration says
// otherwise.
func TunedElsewhere(container, ifName string) (bool, error) {
	kept, err := readLinkBackup(LinkBackupFile("/run/cni/tuning", container, ifName))
	return kept.MTU != 0 && kept.Scope == "", err
}
