package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/internal/run/wait"
	"github.com/ordapply/ordapply/ordering"
)

// newKindWaiter returns the waiter for kinds. A CRD is ready when its kinds are served, and a
// custom resource can be sent then.
func (r *run) newKindWaiter() *wait.KindWaiter {
	return wait.NewKindWaiter(&r.Loop, r.applier.Cluster, wait.KindRun{
		IsDefined:      r.snapshot.Bodies.Defines,
		HasPendingCRDs: r.hasPendingCRDs,
		HasEnded:       func(i int) bool { return r.steps[i].state.Final() },
		OnServed:       r.onKindsServed,
	})
}

// waitForKinds makes a step wait until the API server serves all the kinds.
func (r *run) waitForKinds(i int, kinds ...schema.GroupVersionKind) {
	if !r.kindWaiter.IsWaiting(i) && r.kindWaiter.Await(i, kinds...) {
		r.reportKindWait(i, kinds[0])
	}
}

// waitForNewKinds is waitForKinds for a definition that was recreated: its kinds are known as they
// were before, which may be with another scope.
func (r *run) waitForNewKinds(i int, kinds []schema.GroupVersionKind) {
	if r.steps[i].state != event.Waiting {
		return
	}
	var versions []schema.GroupVersion
	for _, kind := range kinds {
		versions = append(versions, kind.GroupVersion())
	}
	scope, _, _ := unstructured.NestedString(r.steps[i].manifest.Object, "spec", "scope")
	refresh := func(ctx context.Context) (struct{}, error) {
		return struct{}{}, r.applier.Cluster.Refresh(ctx, versions...)
	}
	loop.Ask(&r.Loop, refresh, func(struct{}, error) {
		isOld := slices.ContainsFunc(kinds, func(gvk schema.GroupVersionKind) bool {
			kind, served := r.kind(gvk)
			return served && kind.Namespaced != (scope == "Namespaced")
		})
		switch {
		case r.steps[i].state != event.Waiting:
		case isOld:
			r.After(newKindsPause, func() { r.waitForNewKinds(i, kinds) })
		default:
			r.waitForKinds(i, kinds...)
		}
	})
}

// newKindsPause is the pause before discovery is read again for a kind that it lists as it was.
const newKindsPause = 200 * time.Millisecond

// reportKindWait reports that a step waits for a kind, and starts KindTimeout for
// a kind that nothing in the stream defines.
func (r *run) reportKindWait(i int, kind schema.GroupVersionKind) {
	s := &r.steps[i]
	switch own := s.manifest.GroupVersionKind() == kind; {
	case s.state == event.Waiting:
		r.wait(i, event.Waiting, event.WaitKind, "its kind is not served yet")
	case own && len(s.ProvidedBy) > 0:
		r.wait(i, event.Applying, event.WaitKind, "its kind, which "+s.ProvidedBy[0].String()+" defines, is not served yet")
	default:
		detail := "its kind is not served yet"
		if !own {
			detail = "it needs an object of kind " + kind.GroupKind().String() + ", which is not served yet"
		}
		r.wait(i, event.Applying, event.WaitKind, detail)
		if s.ownTimeout == 0 { // otherwise the resource's own timeout bounds this wait too
			r.After(r.applier.KindTimeout, func() { r.onKindTimeout(i, kind) })
		}
	}
}

// hasPendingCRDs reports whether a CRD that defines kinds of a group-version is
// sent and not established yet.
func (r *run) hasPendingCRDs(gv schema.GroupVersion) bool {
	return slices.ContainsFunc(r.crdSteps[gv], func(i int) bool {
		s := &r.steps[i]
		return isActive(s.state) && !r.kindWaiter.IsWaiting(i)
	})
}

// onKindsServed resumes a step whose kinds are all served: a CRD is ready, a custom
// resource can be sent.
func (r *run) onKindsServed(i int) {
	if s := &r.steps[i]; s.state == event.Waiting && s.judged.SpecChanged && !s.recreated && !r.applier.DryRun {
		r.awaitSchema(i)
		return
	} else if s.state == event.Waiting {
		r.finishReady(i, "")
		return
	}
	r.invalidateReads()
	r.requireFreshRead(i)
	r.restart(i)
}

// onKindTimeout fails a step whose kind is defined by nothing in the stream and
// was not served in time.
func (r *run) onKindTimeout(i int, kind schema.GroupVersionKind) {
	if _, served := r.kind(kind); served || r.steps[i].state != event.Applying || !r.kindWaiter.IsWaiting(i) {
		return
	}
	if r.startsWorkload() {
		r.After(r.applier.KindTimeout, func() { r.onKindTimeout(i, kind) })
		return
	}
	if kind.Version == "" {
		r.fail(i, event.Failed, event.WithCode(event.CodeNotServed, fmt.Errorf("it needs an object of kind %s, which is not in this stream, and the cluster still does not serve that kind after %s (--kind-timeout): "+
			"install its CustomResourceDefinition or operator, or correct the entry in the annotation %s", kind.GroupKind(), max(0, r.applier.KindTimeout), ordering.DependsOnAnnotation)))
		return
	}
	r.fail(i, event.Failed, wait.Unserved(r.applier.Cluster, kind, r.applier.KindTimeout.String()+" (--kind-timeout)"))
}

// startsWorkload reports whether a workload that this run created is not ready yet. It may be
// the controller that defines a kind.
func (r *run) startsWorkload() bool {
	return slices.ContainsFunc(r.steps, func(s step) bool { return s.state == event.Waiting && s.judged.IsNew && s.ID.MakesPods() })
}

// failMissing is called after a failure. It fails the steps that still wait for their own
// kind or Namespace, which nothing in the stream defines, so that this error is reported in
// the same run.
func (r *run) failMissing() {
	for i := range r.steps {
		s := &r.steps[i]
		gvk := s.manifest.GroupVersionKind()
		switch _, served := r.kind(gvk); {
		case s.state != event.Applying:
		case r.kindWaiter.IsWaiting(i) && !served && len(s.ProvidedBy) == 0:
			r.fail(i, event.Failed, wait.Unserved(r.applier.Cluster, gvk, time.Since(s.startedAt).Round(time.Second/10).String()))
		case r.isAwaitingNamespace(i):
			r.fail(i, event.Failed, s.Final(write.ExplainInvalid(s.Cause, r.byID.HasNamespace)))
		}
	}
}
