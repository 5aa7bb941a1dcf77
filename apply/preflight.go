package apply

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/crdcheck"
	"github.com/ordapply/ordapply/internal/desired"
	"github.com/ordapply/ordapply/internal/kinds"
	"github.com/ordapply/ordapply/internal/ownership"
	"github.com/ordapply/ordapply/internal/references"
	"github.com/ordapply/ordapply/internal/stream"
	"github.com/ordapply/ordapply/object"
)

// preflight fails the steps that are known to fail, before anything is written: foreign
// members first, all of them, then the others whose dependencies do not fail.
func (r *run) preflight(ctx context.Context) {
	named := ownership.NameSets(ctx, r.applier.Cluster)
	r.failEach(func(i int) error { return r.snapshot.MembershipError(r.steps[i].read, named) })
	for _, check := range []func(i int) error{r.base64Error, r.unknownKindError, r.customResourceErrors()} {
		r.failEach(func(i int) error {
			if r.steps[i].state.Final() {
				return nil
			}
			return check(i)
		})
	}
}

// failEach fails the steps for which check returns an error, which ends the run.
func (r *run) failEach(check func(i int) error) {
	for i := range r.steps {
		if err := check(i); err != nil {
			r.fail(i, Failed, err)
			r.Finished = true
		}
	}
}

// base64Error returns an error for an object that the API server cannot decode.
func (r *run) base64Error(i int) error { return desired.CheckBase64(r.steps[i].manifest) }

// unknownKindError returns an error for a step whose kind cannot appear later.
func (r *run) unknownKindError(i int) error {
	gvk := r.steps[i].manifest.GroupVersionKind()
	if _, served := r.kind(gvk); served || r.mayAppear(i, gvk) {
		return nil
	}
	return kinds.Unserved(r.applier.Cluster, gvk, 0)
}

// mayAppear reports whether a kind that is not served may be served later in
// the run: the stream defines it, its API server may answer by then, or an
// operator may install it during the wait.
func (r *run) mayAppear(i int, gvk schema.GroupVersionKind) bool {
	s := &r.steps[i]
	if len(s.ProvidedBy) > 0 || r.applier.Cluster.Unreadable(gvk.GroupVersion()) != nil {
		return true
	}
	own, _ := stream.OwnTimeout(s.manifest)
	waits := r.applier.KindTimeout > 0 || own > 0 || s.Timeout > 0
	return !object.IsNative(gvk.Group) && (waits || r.applier.DryRun)
}

// customResourceErrors returns a check for custom resources that the stream's own
// CustomResourceDefinitions reject. Where the kind is already served the API server
// decides: it tolerates unchanged invalid fields of existing objects, and webhooks may
// change what is sent.
func (r *run) customResourceErrors() func(i int) error {
	if !slices.ContainsFunc(r.steps, r.awaitsOwnKind) {
		return func(int) error { return nil }
	}
	var resources []references.Resource
	for i := range r.steps {
		resources = append(resources, references.Resource{Meta: Meta(r.steps[i].manifest), Object: r.steps[i].manifest.Object})
	}
	invalid := crdcheck.Rejected(references.NewIndex(resources, nil))
	return func(i int) error {
		if s := r.steps[i]; r.awaitsOwnKind(s) {
			return invalid[s.ID]
		}
		return nil
	}
}

// awaitsOwnKind reports whether the stream defines the kind of a step and the
// cluster does not serve it yet.
func (r *run) awaitsOwnKind(s step) bool {
	gvk := s.manifest.GroupVersionKind()
	_, served := r.kind(gvk)
	return !served && r.snapshot.Bodies.Defines(gvk)
}
