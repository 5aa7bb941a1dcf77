package preflight

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/openapi"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/plan/check"
	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/internal/run/wait"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Checks are the checks of a run.
type Checks struct {
	Cluster     kube.ReadOnly
	Reader      request.Reader // has the manifest of each step
	Reads       []request.LiveObject
	Plan        *ordering.Plan
	Schemas     openapi.Client // of the API server; nil: fields are not checked
	KindTimeout time.Duration  // how long a kind that nothing in the stream defines is waited for
	DryRun      bool
	Restores    bool                                           // the run goes as far as it can: refusals are left to the requests
	Sender      request.Sender                                 // sends dry runs of PATCHes that may be refused
	MayRecreate func(manifest *unstructured.Unstructured) bool // the object may be deleted and created again; nil: as the manifest says
}

// Each calls fail with the error of each step that has one: first of all foreign members,
// dependents before their dependencies, whose failure would skip them, and then of the other steps
// that have not ended, such as by the failure of a dependency. Last are the refusals that depend
// on the live objects, again dependents first.
func (c Checks) Each(ctx context.Context, hasEnded func(step int) bool, fail func(step int, err error)) {
	named := write.NewSetFinder(ctx, c.Cluster)
	for i, read := range slices.Backward(c.Reads) {
		if err := c.Reader.MembershipError(i, read, named); err != nil {
			fail(i, err)
		}
	}
	checked := sync.OnceValue(c.checked)
	fields := sync.OnceValue(func() func(int) error { return c.fieldErrors(ctx, checked()) }) // which needs no schemas if nothing is left
	fieldError := func(i int) error { return fields()(i) }
	for _, check := range []func(i int) error{c.refusal, c.recordError, c.malformedError, c.unknownKindError, c.Reader.RejectedByCRDs(c.Plan, c.Reads), fieldError} {
		for i := range c.Plan.Steps {
			if hasEnded(i) {
				continue
			}
			if err := check(i); err != nil {
				fail(i, err)
			}
		}
	}
	if c.Restores {
		return
	}
	refused := c.refusals(ctx, func(i int) bool { return c.Reads[i].Live != nil && !hasEnded(i) && checked()[i] })
	for i := range slices.Backward(c.Plan.Steps) {
		if err := refused[i]; err != nil && !hasEnded(i) {
			fail(i, err)
		}
	}
}

// WithoutReads joins the errors of the checks that read no object from the cluster.
func (c Checks) WithoutReads(objects map[object.ID]*unstructured.Unstructured) error {
	for _, s := range c.Plan.Steps {
		c.Reader.Manifests = append(c.Reader.Manifests, objects[s.ID])
	}
	var errs []error
	for i, s := range c.Plan.Steps {
		for _, check := range []func(i int) error{c.refusal, c.malformedError, c.unknownKindError} {
			if err := check(i); err != nil {
				errs = append(errs, &event.Error{Wave: c.Plan.WaveTitle(s.Wave), Op: event.OpApply, ID: s.ID, Err: err})
				break
			}
		}
	}
	return errors.Join(errs...)
}

func (c Checks) manifest(i int) *unstructured.Unstructured { return c.Reader.Manifests[i] }

func (c Checks) isServed(i int) bool {
	_, served := kube.KindsOf(c.Cluster)(c.manifest(i).GroupVersionKind())
	return served
}

// refusal returns the error of a step that the plan knows to be refused.
func (c Checks) refusal(i int) error { return c.Plan.Steps[i].Refused }

// recordError returns an error for the manifest of an object that an apply set keeps for itself,
// such as one exported from a cluster.
func (c Checks) recordError(i int) error { return c.Reader.Owner.RecordError(c.manifest(i)) }

// malformedError returns an error for an object that the API server cannot take.
func (c Checks) malformedError(i int) error {
	return check.Native(c.Plan.Steps[i].ID, c.manifest(i).Object)
}

// unknownKindError returns an error for a step whose kind cannot appear later.
func (c Checks) unknownKindError(i int) error {
	if c.isServed(i) || c.MayAppear(i) {
		return nil
	}
	return wait.Unserved(c.Cluster, c.manifest(i).GroupVersionKind(), "")
}

// MayAppear reports whether the kind of a step, which is not served, may be served later
// in the run: the stream defines it, its API server may answer by then, or an
// operator may install it during the wait.
func (c Checks) MayAppear(i int) bool {
	s, gvk := c.Plan.Steps[i], c.manifest(i).GroupVersionKind()
	if len(s.ProvidedBy) > 0 || c.Cluster.Unreadable(gvk.GroupVersion()) != nil {
		return true
	}
	own, _ := OwnTimeout(c.manifest(i))
	waits := c.KindTimeout > 0 || own > 0 || s.Timeout > 0
	return !object.IsNative(gvk.Group) && (waits || c.DryRun)
}
