package fn

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
)

// kpt stores the file's path and package of a resource next to its index in the file. It
// writes files in the order of the indices, not of the list.
const (
	pathAnnotation       = "internal.config.kubernetes.io/path"
	legacyPathAnnotation = "config.kubernetes.io/path"
	packageAnnotation    = "internal.config.kubernetes.io/package-path"
)

// file is the file from which kpt read a resource.
type file struct{ pkg, path string }

// reindex reassigns the indices of each file in the decided order. It adds one
// finding about resources without a position in a file.
func reindex(metas []object.Meta, out *Decision, findings *Findings) {
	indices, order := map[file][]int{}, map[file][]int{}
	var placeless []int
	for _, i := range out.Sorted {
		if !out.Stamped[i] {
			continue
		}
		at := fileOf(metas[i])
		index, err := strconv.Atoi(either(metas[i], stamp.Index, stamp.LegacyIndex))
		if at.path == "" || err != nil {
			placeless = append(placeless, i)
			continue
		}
		indices[at], order[at] = append(indices[at], index), append(order[at], i)
	}
	for at, resources := range order {
		slices.Sort(indices[at])
		for n, i := range resources {
			setIndex(out.Changes[i].Set, metas[i], indices[at][n])
		}
	}
	if len(placeless) > 0 {
		findings.add(Finding{Severity: Warning, Field: "reindex", Message: fmt.Sprintf(
			"%d resources, such as %s, have no position in a file: reindex is for packages that kpt reads", len(placeless), metas[placeless[0]].ID)})
	}
}

// setIndex sets the index under each of the two keys that the resource has.
func setIndex(set map[string]string, m object.Meta, index int) {
	for _, key := range []string{stamp.Index, stamp.LegacyIndex} {
		if _, has := m.Annotations[key]; has {
			set[key] = fmt.Sprint(index)
		}
	}
}

func fileOf(m object.Meta) file {
	return file{pkg: m.Annotations[packageAnnotation], path: either(m, pathAnnotation, legacyPathAnnotation)}
}

// either returns the value of the first key if present, else of the second.
func either(m object.Meta, first, second string) string {
	if value, has := m.Annotations[first]; has {
		return value
	}
	return m.Annotations[second]
}
