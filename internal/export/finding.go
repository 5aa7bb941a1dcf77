package export

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
)

// Finding is something of a tree that does not match the order.
type Finding struct {
	Path string // of the file, slash-separated, below the tree's folder
	What string // is different
	Why  string // it matters; "" if What says it
	Do   string // what to do, as an imperative
}

// String returns the finding as one line.
func (f Finding) String() string {
	text := f.Path + ": " + f.What
	if f.Why != "" {
		text += ": " + f.Why
	}
	return plain.Line(text + "; " + f.Do)
}

// again is what to do about most findings.
const again = "export again"

// finder collects findings.
type finder struct {
	findings  []Finding
	differs   map[string]bool // by path: whether the file differs
	explained map[string]bool // by path: whether a finding says why
	illegible map[string]bool // by path: whether the file cannot be read
}

// add adds a finding about a file, which may explain why other files differ, too.
func (f *finder) add(finding Finding, others ...string) {
	f.findings = append(f.findings, finding)
	for _, name := range append(others, finding.Path) {
		f.explained[name] = true
	}
}

// rest adds a finding for each file that differs and that no other finding explains.
func (f *finder) rest(want, have map[string][]byte) {
	for _, name := range slices.Sorted(maps.Keys(f.differs)) {
		if !f.differs[name] || f.explained[name] {
			continue
		}
		_, wanted := want[name]
		_, there := have[name]
		switch {
		case !there:
			f.add(Finding{name, "the file is missing", "", again})
		case !wanted:
			f.add(Finding{name, "no export wrote this file", "what it says is not part of the order", "remove it"})
		default:
			f.add(Finding{name, "only comments or the layout differ", "the engine does the same", "export again to restore the file"})
		}
	}
}

// layerOf returns the layer that a file is in; "" if it is none's.
func layerOf(name string) string {
	if dir := path.Dir(name); strings.HasPrefix(dir, "layers/") {
		return strings.TrimPrefix(dir, "layers/")
	}
	return ""
}
