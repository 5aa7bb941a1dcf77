// Package remove deletes live objects in the waves of a plan: a wave opens when all objects of
// the one before are gone.
//
//	remover := remove.Remover{Cluster: cluster}
//	order, err := planner.DeletionOrder(resources, ordering.Options{})
//	summary, err := remover.Run(ctx, order, live) // live: the objects by ID, as read from the cluster
package remove

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Remover deletes live objects wave by wave: a wave opens when all objects of
// the one before are gone. It deletes objects only as they were read: an object
// that has changed since is read again first, and one that replaced another under
// its name is kept. The zero value of each optional field selects the documented
// default. The fields are many because each is an option of its own.
type Remover struct {
	Cluster kube.Cluster // required
	// Workers bounds the concurrent requests; default 32.
	Workers int
	// Timeout bounds the run; default none.
	Timeout time.Duration
	// WaveTimeout bounds each wave; default 5m, negative: none.
	WaveTimeout time.Duration
	// DryRun makes the server validate every deletion and deletes nothing.
	DryRun bool
	// NoWait opens the next wave when all deletions of the one before are
	// accepted.
	NoWait bool
	// PruneNamespaces deletes Namespaces with all their contents, unless some are
	// protected in this run; default: a Namespace with objects that are not
	// deleted in this run is kept.
	PruneNamespaces bool
	// NoPruneOption is set where users cannot set PruneNamespaces: messages then name
	// kubectl instead of the flag.
	NoPruneOption bool
	// KeepReason returns why a live object must not be deleted; "" when it may be.
	// It is called again for an object that has changed. Objects that the
	// annotations of applyset.Protection protect are kept in any case.
	KeepReason func(live *unstructured.Unstructured) string
	// Removal is why the objects are deleted, which selects the protections;
	// default: all.
	Removal applyset.Removal
	// Unprotected deletes despite the annotations of applyset.Protection.
	Unprotected bool
	// Stays lists live objects that are not deleted. Their only owner is kept, because the
	// garbage collector would delete them with it.
	Stays []*unstructured.Unstructured
	// Ignore reports which objects in a Namespace do not keep it, such as an
	// apply set's own records. It is given the metadata only.
	Ignore func(found *unstructured.Unstructured) bool
	// Before is called before each request to delete an object, possibly
	// concurrently; its error is the request's. Default: nothing.
	Before func(context.Context, object.ID) error
	// Set is the id of the apply set that the live objects are members of.
	// They are watched by its label; default: no set.
	Set string
	// NoDiagnosis turns off the requests that find the blockers of a deletion.
	NoDiagnosis bool
	// Events is called with every transition, always from one goroutine;
	// default: discard.
	Events func(event.Event)
}

// Run deletes the live objects in the given order and returns when each is in
// a final state: Deleted when it is gone or did not exist, Kept when it must
// not be deleted. The live objects need only metadata and kind. The error
// joins all failures in the order of the deletion, each an *event.Error, and the
// cause of an early end, as that of apply.Applier.Run.
func (m Remover) Run(ctx context.Context, order *ordering.Deletion, live map[object.ID]*unstructured.Unstructured) (event.Summary, error) {
	return newRemoval(m.withDefaults(), order, live).execute(ctx)
}

func (m Remover) withDefaults() Remover {
	if m.Workers <= 0 {
		m.Workers = 32
	}
	if m.WaveTimeout == 0 {
		m.WaveTimeout = 5 * time.Minute
	}
	if m.KeepReason == nil {
		m.KeepReason = func(*unstructured.Unstructured) string { return "" }
	}
	if m.Ignore == nil {
		m.Ignore = func(*unstructured.Unstructured) bool { return false }
	}
	if m.Before == nil {
		m.Before = func(context.Context, object.ID) error { return nil }
	}
	if m.Events == nil {
		m.Events = func(event.Event) {}
	}
	return m
}
