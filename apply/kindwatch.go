package apply

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/loop"
	"github.com/ordapply/ordapply/kube"
)

// A kind that is installed outside the stream shows as a change of a
// CustomResourceDefinition or an APIService. Both are watched as metadata
// only: a cluster may have a thousand CRDs of a megabyte each. Their names
// show which group-version to refresh.

const (
	// discoveryPollDelay is the delay before discovery is read again without
	// such a change.
	discoveryPollDelay = 2 * time.Second
	// unlikelyKindDelay is the delay before discovery is read because of a change
	// that is probably about another kind of the group.
	unlikelyKindDelay = time.Second
)

// watchKinds starts the watch for kinds that the stream does not define, once
// for all of them.
func (r *run) watchKinds() {
	if r.kindsWatched {
		return
	}
	r.kindsWatched = true
	for _, gvk := range kube.DefiningKinds() {
		kind, served := r.kind(gvk)
		if !served {
			r.pollKinds(gvk)
			continue
		}
		r.StartWatch(r.applier.Cluster, loop.WatchKey{Resource: kind.Resource, Metadata: true}, kind, func(c loop.KeyedWatchEvent) {
			if c.Forbidden != nil {
				r.pollKinds(gvk)
				return
			}
			r.handleDefinitionChange(gvk.Kind, c.WatchEvent)
		})
	}
}

// pollKinds polls discovery where CustomResourceDefinitions cannot be
// watched. It does nothing for APIServices: they seldom add a kind, and the
// unprompted reads find it.
func (r *run) pollKinds(definition schema.GroupVersionKind) {
	if definition.Kind == "APIService" {
		return
	}
	r.kindsPolled = true
	for gv, w := range r.kindWaits {
		w.delay = firstDelay
		r.discoverIn(gv, w, r.nextDelay(w))
	}
}

// handleDefinitionChange refreshes the group-versions that a change may have added.
func (r *run) handleDefinitionChange(definition string, c kube.WatchEvent) {
	if c.Deleted {
		return
	}
	for gv, w := range r.kindWaits {
		for _, obj := range c.Objects {
			switch likelihoodOf(definition, obj.GetName(), gv, w) {
			case likely:
				if !c.Listed {
					w.delay = firstDelay
				}
				r.discoverIn(gv, w, firstDelay)
			case possible:
				if !c.Listed && r.discoverIn(gv, w, w.unlikelyDelay) {
					w.unlikelyDelay *= 2
				}
			}
		}
	}
}

// likelihood is how likely an object defines a kind.
type likelihood int

const (
	unlikely likelihood = iota
	possible
	likely
)

// likelihoodOf estimates by its name whether a CustomResourceDefinition
// (PLURAL.GROUP) or an APIService (VERSION.GROUP) defines a kind that is
// waited for. The plural is guessed, so any CRD of the group may.
func likelihoodOf(definition, name string, gv schema.GroupVersion, w *kindWait) likelihood {
	first, group, _ := strings.Cut(name, ".")
	if group != gv.Group {
		return unlikely
	}
	if definition == "APIService" {
		if gv.Version == "" || gv.Version == first {
			return likely
		}
		return unlikely
	}
	for _, want := range w.waiters {
		if plural, _ := meta.UnsafeGuessKindToResource(want.kind); plural.Resource == first {
			return likely
		}
	}
	return possible
}
