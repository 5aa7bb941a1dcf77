package apply

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A kind that something else brings shows as a change of a
// CustomResourceDefinition, or of an APIService. Both are watched, by no more
// than their metadata: a cluster may have a thousand CRDs, of a megabyte each.
// Their names tell which group-version to look at.

const (
	// unpromptedDelay is the pause before discovery is asked again without any
	// such change.
	unpromptedDelay = 2 * time.Second
	// otherDelay is the pause before discovery is asked because of a change that
	// is more likely about another kind of the group.
	otherDelay = time.Second
)

// definitions are the kinds whose objects bring other kinds.
func definitions() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"},
	}
}

// watchKinds watches for kinds that the stream does not define, once for all of
// them.
func (r *run) watchKinds() {
	if r.kindsWatched {
		return
	}
	r.kindsWatched = true
	for _, gvk := range definitions() {
		kind, served := r.kind(gvk)
		if !served {
			r.pollKinds(gvk)
			continue
		}
		r.follow(r.a.Cluster, watchKey{resource: kind.Resource, metadata: true}, kind, func(c sight) {
			if c.Forbidden != nil {
				r.pollKinds(gvk)
				return
			}
			r.seeDefinitions(gvk.Kind, c.Change)
		})
	}
}

// pollKinds lets discovery be asked again and again where nothing tells of new
// CustomResourceDefinitions. An APIService alone seldom brings a kind: the
// unprompted looks find it.
func (r *run) pollKinds(definition schema.GroupVersionKind) {
	if definition.Kind == "APIService" {
		return
	}
	r.kindsPolled = true
	for gv, w := range r.wanted {
		w.delay = firstDelay
		r.lookIn(gv, w, r.nextDelay(w))
	}
}

// seeDefinitions looks at the group-versions that a change may have brought.
func (r *run) seeDefinitions(definition string, c Change) {
	if c.Deleted {
		return
	}
	for gv, w := range r.wanted {
		for _, obj := range c.Objects {
			switch brings(definition, obj.GetName(), gv, w) {
			case likely:
				if !c.Listed {
					w.delay = firstDelay
				}
				r.lookIn(gv, w, firstDelay)
			case perhaps:
				if !c.Listed && r.lookIn(gv, w, w.other) {
					w.other *= 2
				}
			}
		}
	}
}

// chance is how likely an object brings a kind.
type chance int

const (
	no chance = iota
	perhaps
	likely
)

// brings tells by its name whether a CustomResourceDefinition (PLURAL.GROUP) or
// an APIService (VERSION.GROUP) brings a kind that is waited for. The plural is
// guessed, so that any CRD of the group may.
func brings(definition, name string, gv schema.GroupVersion, w *kindWait) chance {
	first, group, _ := strings.Cut(name, ".")
	if group != gv.Group {
		return no
	}
	if definition == "APIService" {
		if gv.Version == "" || gv.Version == first {
			return likely
		}
		return no
	}
	for _, want := range w.wants {
		if plural, _ := meta.UnsafeGuessKindToResource(want.kind); plural.Resource == first {
			return likely
		}
	}
	return perhaps
}
