// Package apply executes a plan on a cluster. It sends server-side applies in
// waves, waits for readiness by watches, and gives every resource exactly one
// final state.
//
//	cluster, err := kube.Connect(config)
//	summary, err := apply.Objects(ctx, cluster, objects, apply.Options{Namespace: "shop"})
//
// Objects is three steps, which a program may take one by one, for instance to show the plan
// or a preview first:
//
//	stream, err := apply.NewStream(inputs, apply.Scope{Namespace: "shop", Kind: cluster.Kind})
//	plan, err := stream.Plan(ordering.Options{})
//	applier := apply.Applier{Cluster: cluster, Events: print}
//	preview, err := applier.Preview(ctx, plan, stream.Objects) // writes nothing
//	summary, err := applier.Run(ctx, plan, stream.Objects)
//
// Run is two steps, between which a program may do what needs the state of the cluster and must
// come before the first write, such as storing a revision:
//
//	prepared, summary, err := applier.Prepare(ctx, plan, stream.Objects) // reads and checks
//	existed := prepared.Existing()
//	summary, err = prepared.Run(ctx, apply.Hooks{})
//
// Package event has the events and results of a run. Package remove deletes live objects in
// the order of an ordering.Deletion. Package state runs both under the lock of an apply set,
// with a history.
//
// One loop owns all state. Workers receive requests and send back results,
// watches send changes, timers send that they fired. So nothing is locked,
// and one goroutine makes every decision (internal/run/loop).
package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/openapi"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/internal/live/access"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Applier applies plans by server-side apply. The zero value of each optional
// field selects the documented default. Its methods do not change it. The fields
// are many because each is an option of its own.
type Applier struct {
	Cluster kube.Cluster // required
	// Schemas are the OpenAPI schemas of the cluster, by which unknown fields and wrong types are
	// found before the first write; default: the API server finds them, object by object.
	Schemas openapi.Client
	// Manager is the field manager; default "ordapply".
	Manager string
	// Namespace is for namespaced objects without one, whose kind was not served when their
	// stream was made; default: they are an error. Events name them as the plan does, and
	// Results with their namespace.
	Namespace string
	// NewNamespace is created before the first write if it does not exist and is not in the
	// plan. It does not become a member of a set; default: none.
	NewNamespace string
	// ForceConflicts takes over fields of others after a conflict; default: none.
	ForceConflicts applyset.Force
	// Membership makes the resources members of an apply set; default: no
	// set.
	Membership applyset.Membership
	// Sent lists the resources that Send has just created for this run. They count as created by
	// it; default: none.
	Sent []object.ID
	// MayRecreate are the resources that may be deleted and created again to change an immutable
	// field, besides those whose manifests say so (ordapply.dev/on-immutable); default: none.
	MayRecreate map[object.ID]bool
	// GoingBack is set when the stream is an earlier revision's. A CustomResourceDefinition that
	// cannot go back to it, because objects may be stored in a newer version, is kept.
	GoingBack bool
	// Restores is set when the run undoes a failed one. It goes as far as it can: conflicts and
	// immutable fields, which otherwise end a run before the first write, are met in their waves.
	Restores bool
	// Secrets are hidden like the plan's: no message and no log shows their values.
	Secrets []*unstructured.Unstructured
	// DryRun makes the API server validate everything and store nothing; nothing is waited for.
	DryRun bool
	// KeepGoing leaves out the resources that cannot be applied, and skips their dependents;
	// the rest is applied. Their errors are returned at the end. Default: a resource that is
	// known to be refused ends the run before anything is written, and one that the API server
	// refuses ends it after its wave.
	KeepGoing bool
	// OnePass makes Run return instead of waiting, for a controller that calls it again. Run
	// sends all requests that are possible now, and judges each resource once. Waiting is no
	// error: Result.Waiting is the reason why a resource is Applied, Unsettled or NotStarted.
	// The next Run continues there, and sends no unchanged resources.
	OnePass bool
	// Schedule selects how the plan's order is enforced; default Waves.
	Schedule Schedule
	// Workers bounds the concurrent requests; default 32.
	Workers int
	// Timeout bounds the run; default: the deadline of its context, if any.
	Timeout time.Duration
	// WaveTimeout bounds each wave whose layers set no timeout; default 5m,
	// negative: none.
	WaveTimeout time.Duration
	// KindTimeout bounds the wait for a kind or a Namespace that neither the cluster nor
	// the stream defines; default DefaultKindTimeout, negative: no wait.
	KindTimeout time.Duration
	// CRDTimeout bounds the time in which no CustomResourceDefinition of a wave is
	// applied, established or served; default 30s (KubeVela KEP-0005), negative: the
	// timeout of the wave applies.
	CRDTimeout time.Duration
	// StatusGrace bounds the wait for a status of a custom resource that has
	// none, or one that may describe the spec before this run changed it.
	// After that the resource is judged as it is; default 15s, negative: no
	// wait.
	StatusGrace time.Duration
	// Health judges live objects; default: the built-in rules of package health.
	Health *health.Assessor
	// NoDiagnosis turns off the requests that find out why a resource did not
	// become ready.
	NoDiagnosis bool
	// SkipWait reports which resources are not waited for, besides those of layers; default none.
	SkipWait func(object.ID) bool
	// Events is called with every transition, always from one goroutine. The
	// run is paused until it returns. Default: discard.
	Events func(event.Event)
}

// DefaultKindTimeout is the default of Applier.KindTimeout (k8sconnect ADR-007).
const DefaultKindTimeout = 30 * time.Second

// Run applies the plan and returns when every resource is in a final state: Prepare and
// Prepared.Run in one call, whose errors it returns.
func (a Applier) Run(ctx context.Context, plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured) (event.Summary, error) {
	prepared, summary, err := a.Prepare(ctx, plan, objects)
	if err != nil {
		return summary, err
	}
	return prepared.Run(ctx, Hooks{})
}

// Send applies one object by the PATCH that Run sends, once, and does not wait for
// it. Its error is the API server's, with a remedy; a live object that is terminating is an
// error, too.
func (a Applier) Send(ctx context.Context, obj *unstructured.Unstructured) error {
	if mutation.In(obj.Object) {
		return fmt.Errorf("it is applied before all others, so it cannot take their values: remove annotation %s", mutation.Annotation)
	}
	a = a.withDefaults()
	kind, _ := a.Cluster.Kind(obj.GroupVersionKind())
	answer, err := a.sender().Send(ctx, request.Request{
		Op: request.Patch, Kind: kind, Object: obj, Bodies: write.Stream{Set: a.Membership.Set, Kinds: kube.KindsOf(a.Cluster)},
		Options: kube.PatchOptions{Manager: a.Manager, Force: a.ForceConflicts.All, DryRun: a.DryRun},
	})
	if err != nil {
		return fault.Explain(redact.Error(obj, err))
	}
	live := answer.Live
	if err := a.owner().AnswerError(live); err != nil {
		return err
	}
	if live.GetDeletionTimestamp() != nil {
		return fmt.Errorf("it is being deleted%s: wait until it is gone, then run this again", kube.DeletionBlockers(live))
	}
	return nil
}

// Preview reports what Run would do: it reads the live objects and sends
// server-side dry runs of changes. Nothing is written. Errors of the run are rows
// too, all of them; the returned error is event.ErrInterrupted when ctx ended the
// preview.
func (a Applier) Preview(ctx context.Context, plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured) (*preview.Preview, error) {
	a = a.withDefaults()
	return preview.Of(ctx, preview.Input{
		Cluster: kube.NewReadOnly(a.Cluster), Plan: plan, Objects: objects, Manager: a.Manager, Schemas: a.Schemas, Membership: a.Membership, ForceConflicts: a.ForceConflicts,
		Health: a.Health, Workers: a.Workers, Sent: a.Sent, Timeout: a.Timeout, GoingBack: a.GoingBack,
		KindTimeout: a.KindTimeout, NewNamespace: a.NewNamespace, MayRecreate: a.MayRecreate,
	})
}

func (a Applier) withDefaults() Applier {
	if a.Workers <= 0 {
		a.Workers = 32
	}
	a.Manager = cmp.Or(a.Manager, "ordapply")
	a.WaveTimeout = cmp.Or(a.WaveTimeout, 5*time.Minute)
	a.KindTimeout = cmp.Or(a.KindTimeout, DefaultKindTimeout)
	a.CRDTimeout = cmp.Or(a.CRDTimeout, 30*time.Second)
	a.StatusGrace = cmp.Or(a.StatusGrace, 15*time.Second)
	a.Health = cmp.Or(a.Health, &health.Assessor{})
	if a.SkipWait == nil {
		a.SkipWait = func(object.ID) bool { return false }
	}
	if a.Events == nil {
		a.Events = func(event.Event) {}
	}
	return a
}

// mayRecreate reports whether the object of a manifest may be deleted and created again.
func (a Applier) mayRecreate(manifest *unstructured.Unstructured) bool {
	return write.MayRecreate(manifest) || a.MayRecreate[kube.Meta(manifest).ID]
}

// Permissions lists the permissions that Run needs, as far as they are known
// in advance. It makes no request.
func (a Applier) Permissions(plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured, kinds kube.Kinds) kube.Permissions {
	a = a.withDefaults()
	run := access.Run{DryRun: a.DryRun, NoDiagnosis: a.NoDiagnosis, SkipWait: a.SkipWait, Recreates: a.mayRecreate, Health: a.Health}
	return run.Permissions(plan, objects, kinds)
}

// MembershipErrors returns the errors that Run would return because objects belong to
// other sets or to none. It reads the live objects as Run does and writes
// nothing.
func (a Applier) MembershipErrors(ctx context.Context, plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured) error {
	a = a.withDefaults()
	reader, named := a.reader(plan, objects), write.NewSetFinder(ctx, a.Cluster)
	var errs []error
	reads, _ := reader.Read(ctx, a.Timeout)
	for i, read := range reads {
		if err := reader.MembershipError(i, read, named); err != nil {
			s := plan.Steps[i]
			errs = append(errs, &event.Error{Wave: plan.WaveTitle(s.Wave), Op: event.OpApply, ID: s.ID, Err: err})
		}
	}
	return errors.Join(errs...)
}
