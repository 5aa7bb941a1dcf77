package mutation

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/object"
)

// Secretive are the objects of a stream that take values of Secrets, directly or from each
// other.
type Secretive map[object.ID]bool

// SecretiveOf returns the secretive objects of a stream.
func SecretiveOf(manifests []*unstructured.Unstructured) Secretive {
	entries := map[object.ID][]Entry{}
	for _, m := range manifests {
		if all, err := Of(m.GetAnnotations()); err == nil && len(all) > 0 {
			entries[idOf(m)] = all
		}
	}
	return SecretiveAmong(entries)
}

// SecretiveAmong returns the secretive ones of objects with these entries.
func SecretiveAmong(entries map[object.ID][]Entry) Secretive {
	found := Secretive{}
	for grown := true; grown; {
		grown = false
		for id, all := range entries {
			if !found[id] && slices.ContainsFunc(all, func(e Entry) bool { return found.Is(e, id.Namespace) }) {
				found[id], grown = true, true
			}
		}
	}
	return found
}

func idOf(m *unstructured.Unstructured) object.ID {
	gvk := m.GroupVersionKind()
	return object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: m.GetNamespace(), Name: m.GetName()}
}

// Is reports whether the value of an entry comes from a Secret. namespace is the taking
// object's.
func (s Secretive) Is(e Entry, namespace string) bool {
	id := e.Source.ID()
	if id.Group == "" && id.Kind == "Secret" || s[id] {
		return true
	}
	if id.Namespace == "" {
		id.Namespace = namespace
	}
	return s[id]
}

// ValuesIn returns the values that a live object has taken from Secrets, as far as its own
// annotation and the stream say so.
func (s Secretive) ValuesIn(live *unstructured.Unstructured) []any {
	var places []Place
	for _, e := range Carried(live) {
		if s.Is(e, live.GetNamespace()) {
			places = append(places, e.Targets())
		}
	}
	return ValuesAt(places, live.Object)
}

// ErrNotPlain is the error of a path that selects values of Secrets by their content.
var ErrNotPlain = errors.New("values of Secrets are taken by plain paths only: name each field, as in $.data.password")

// CheckSecret returns an error for an entry that takes the value of a Secret by a path that
// looks at values, such as a filter: its matches would reveal them.
func (e Entry) CheckSecret() error {
	commands, err := parse(e.SourcePath)
	if err == nil && slices.ContainsFunc(commands[1:], func(command string) bool { return !isPlain(command) }) {
		err = ErrNotPlain
	}
	if err == nil {
		return nil
	}
	return inPath("sourcePath", e.SourcePath, err)
}

// Carried returns the entries of a live object, which may have been written by other programs.
// Their paths may be anything.
func Carried(live *unstructured.Unstructured) []Entry {
	var entries []Entry
	if yaml.Unmarshal([]byte(live.GetAnnotations()[Annotation]), &entries) != nil {
		return nil
	}
	return entries
}

// Targets returns all places that an entry may have filled in an object, even if its values
// have changed since.
func (e Entry) Targets() Place { return everywhere(e.TargetPath) }
