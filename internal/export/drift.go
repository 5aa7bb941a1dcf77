package export

import (
	"bytes"
	"cmp"
	"slices"
)

// Find compares the files of a tree with those that an export writes now, by path, and
// returns what differs, sorted by path. It finds something if and only if a file differs.
func Find(want, have map[string][]byte) []Finding {
	f := finder{differs: map[string]bool{}, explained: map[string]bool{}, illegible: map[string]bool{}}
	for name := range want {
		f.differs[name] = !bytes.Equal(want[name], have[name])
	}
	for name := range have {
		if _, wanted := want[name]; !wanted {
			f.differs[name] = true
		}
	}
	wanted, found := f.read(want, false), f.read(have, true)
	f.objects(wanted.engine, found.engine)
	f.manifests(wanted.manifests, found.manifests)
	f.rest(want, have)
	slices.SortStableFunc(f.findings, func(a, b Finding) int { return cmp.Compare(a.Path, b.Path) })
	return f.findings
}
