// Package preflight finds the errors that a run is known to meet, before it writes anything.
//
//	checks := preflight.Checks{Cluster: cluster, Reader: reader, Plan: plan, KindTimeout: 30 * time.Second}
//	checks.Each(ctx, func(step int) bool { return ended[step] }, fail)
package preflight

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/crdcheck"
	"github.com/ordapply/ordapply/internal/desired"
	"github.com/ordapply/ordapply/internal/kinds"
	"github.com/ordapply/ordapply/internal/ownership"
	"github.com/ordapply/ordapply/internal/references"
	"github.com/ordapply/ordapply/internal/snapshot"
	"github.com/ordapply/ordapply/internal/stream"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/progress"
)

// Checks are the checks of a run.
type Checks struct {
	Cluster     kube.Cluster
	Reader      snapshot.Reader // has the manifest of each step
	Reads       []snapshot.Object
	Plan        *ordering.Plan
	KindTimeout time.Duration // how long a kind that nothing in the stream defines is waited for
	DryRun      bool
}

// Each calls fail with the error of each step that has one: foreign members first, all of them,
// then the others that have not ended, such as by the failure of what they depend on.
func (c Checks) Each(ctx context.Context, hasEnded func(step int) bool, fail func(step int, err error)) {
	named := ownership.NameSets(ctx, c.Cluster)
	for i, read := range c.Reads {
		if err := c.Reader.MembershipError(read, named); err != nil {
			fail(i, err)
		}
	}
	for _, check := range []func(i int) error{c.base64Error, c.unknownKindError, c.customResourceErrors()} {
		for i := range c.Plan.Steps {
			if hasEnded(i) {
				continue
			}
			if err := check(i); err != nil {
				fail(i, err)
			}
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
		err := c.base64Error(i)
		if err == nil {
			err = c.unknownKindError(i)
		}
		if err != nil {
			errs = append(errs, &progress.Error{Wave: c.Plan.WaveTitle(s.Wave), Op: progress.OpApply, ID: s.ID, Err: err})
		}
	}
	return errors.Join(errs...)
}

func (c Checks) manifest(i int) *unstructured.Unstructured { return c.Reader.Manifests[i] }

func (c Checks) isServed(i int) bool {
	_, served := kube.KindsOf(c.Cluster)(c.manifest(i).GroupVersionKind())
	return served
}

// base64Error returns an error for an object that the API server cannot decode.
func (c Checks) base64Error(i int) error { return desired.CheckBase64(c.manifest(i)) }

// unknownKindError returns an error for a step whose kind cannot appear later.
func (c Checks) unknownKindError(i int) error {
	gvk := c.manifest(i).GroupVersionKind()
	if c.isServed(i) || c.mayAppear(i, gvk) {
		return nil
	}
	return kinds.Unserved(c.Cluster, gvk, 0)
}

// mayAppear reports whether a kind that is not served may be served later in
// the run: the stream defines it, its API server may answer by then, or an
// operator may install it during the wait.
func (c Checks) mayAppear(i int, gvk schema.GroupVersionKind) bool {
	s := c.Plan.Steps[i]
	if len(s.ProvidedBy) > 0 || c.Cluster.Unreadable(gvk.GroupVersion()) != nil {
		return true
	}
	own, _ := stream.OwnTimeout(c.manifest(i))
	waits := c.KindTimeout > 0 || own > 0 || s.Timeout > 0
	return !object.IsNative(gvk.Group) && (waits || c.DryRun)
}

// customResourceErrors returns a check for custom resources that the stream's own
// CustomResourceDefinitions reject. Where the kind is already served the API server
// decides: it tolerates unchanged invalid fields of existing objects, and webhooks may
// change what is sent.
func (c Checks) customResourceErrors() func(i int) error {
	awaits := make([]bool, len(c.Plan.Steps)) // the stream defines its kind, and the cluster does not serve it yet
	for i := range awaits {
		awaits[i] = !c.isServed(i) && c.Reader.Bodies.Defines(c.manifest(i).GroupVersionKind())
	}
	if !slices.Contains(awaits, true) {
		return func(int) error { return nil }
	}
	var resources []references.Resource
	for _, m := range c.Reader.Manifests {
		resources = append(resources, references.Resource{Meta: kube.Meta(m), Object: m.Object})
	}
	rejected := crdcheck.Rejected(references.NewIndex(resources, nil))
	return func(i int) error {
		if awaits[i] {
			return rejected[c.Plan.Steps[i].ID]
		}
		return nil
	}
}
