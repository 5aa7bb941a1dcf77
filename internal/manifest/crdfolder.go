package manifest

import "bytes"

// ofCRDFolder reports whether a document is from a chart's folder crds,
// according to Helm's comment: "# Source: foo/crds/widgets.yaml".
func ofCRDFolder(text []byte) bool {
	for line := range bytes.Lines(text) {
		if path, ok := bytes.CutPrefix(line, []byte("# Source: ")); ok {
			before, _, found := bytes.Cut(path, []byte("/crds/"))
			return found && !bytes.Contains(before, []byte("/templates/"))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return false
}
