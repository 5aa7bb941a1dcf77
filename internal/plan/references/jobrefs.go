package references

import (
	"slices"
	"strings"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// A Job may create a Secret or ConfigMap that no manifest has, and then it is given the
// name: `create --secret-name=tls`. Its arguments do not show whether it creates the object
// or reads it. So users of the object are applied after every Job that names it, and wait
// for none: the kubelet retries until the object exists.

// jobWord is a word of a Job's arguments.
type jobWord struct{ namespace, word string }

// addJob indexes a Job by the words in the commands and arguments of its containers.
func (ix *Index) addJob(i int, r ordering.Resource) {
	if r.GroupKind() != "Job.batch" {
		return
	}
	seen := map[string]bool{}
	spec := ix.templates[i].spec
	for _, container := range slices.Concat(List(spec, "initContainers"), List(spec, "containers")) {
		for _, text := range slices.Concat(Texts(container, "command"), Texts(container, "args")) {
			for word := range strings.FieldsFuncSeq(text, isNotInName) {
				if !seen[word] {
					seen[word] = true
					at := jobWord{r.Namespace, word}
					ix.jobs[at] = append(ix.jobs[at], i)
				}
			}
		}
	}
}

// isNotInName reports whether no name of an object contains the character.
func isNotInName(c rune) bool {
	return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.'
}

// makersOf returns the Jobs that may create a Secret or ConfigMap: their arguments name
// it, and neither the stream has it nor does another kind create it.
func (ix *Index) makersOf(id object.ID) []int {
	makers := ix.jobs[jobWord{id.Namespace, id.Name}]
	if len(makers) == 0 || id.Kind != "Secret" && id.Kind != "ConfigMap" {
		return nil
	}
	if _, inStream := ix.ByID[id]; inStream || len(ix.byPreviousName[id]) > 0 || len(ix.fillersOf(id)) > 0 {
		return nil
	}
	return makers
}

// Makes reports whether a resource of the stream other than user creates an object, or may.
func (ix *Index) Makes(id object.ID, user object.ID) bool {
	others := func(at int) bool { return ix.Resources[at].ID != user }
	return slices.ContainsFunc(ix.makersOf(id), others) || slices.ContainsFunc(ix.fillersOf(id), func(f filler) bool { return others(f.at) })
}
