package inject

// sort is the set that a call is of.
type sort int

const (
	sortUnknown sort = iota
	sortSend
	sortReceive
	sortFile
	sortRead
	sortMount
	sortNamespace
	sortControl
	sortExec
)

// known is a call of the tables.
type known struct {
	entry
	sort sort
}

// byNumber are all calls of the tables.
func byNumber() map[int]known {
	m := map[int]known{}
	for _, t := range []struct {
		table []entry
		sort  sort
	}{
		{sends(), sortSend},
		{receives(), sortReceive},
		{files(), sortFile},
		{reads(), sortRead},
		{looks(), sortRead},
		{mounts(), sortMount},
		{namespaces(), sortNamespace},
		{controls(), sortControl},
		{execs(), sortExec},
	} {
		for _, e := range t.table {
			m[e.number] = known{e, t.sort}
		}
	}
	return m
}

// shape says which arguments of a call are what, counted from 1; 0 is none.
type shape struct {
	dir, path       int // a directory's descriptor (none: the working directory), and a path from there
	newDir, newPath int
	raw             int // a string that is no path of an object: what a link says, a source
	fd              int
	size            int
	flags           int
}
