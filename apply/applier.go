package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Applier applies plans by server-side apply. The zero value of each optional
// field selects the documented default. Its methods do not change it.
type Applier struct {
	Cluster kube.Cluster // required
	// Manager is the field manager; default "ordapply".
	Manager string
	// ForceConflicts takes over fields that other managers own, once the API
	// server has reported a conflict.
	ForceConflicts bool
	// Membership makes the resources members of an apply set; default: no
	// set.
	Membership Membership
	// Sent lists the resources that Send has just applied for this run. They
	// count as changed by it.
	Sent []object.ID
	// Begin is called once, after the live objects of the stream were read
	// and before anything is written. Its error ends the run; default:
	// nothing.
	Begin func(context.Context) error
	// First is called after Begin, before the first write of the plan, unless
	// DryRun is set. It may change the cluster and reports whether it did;
	// the live objects are then read again. Its error ends the run; default:
	// nothing.
	First func(context.Context) (changed bool, err error)
	// DryRun makes the API server validate every resource and store none. The
	// run waits for nothing.
	DryRun bool
	// Schedule selects how the plan's order is enforced; default Waves.
	Schedule Schedule
	// Workers bounds the concurrent requests; default 32.
	Workers int
	// Timeout bounds the run; default: the deadline of its context, if any.
	Timeout time.Duration
	// WaveTimeout bounds each wave whose layers set no timeout; default 5m,
	// negative: none.
	WaveTimeout time.Duration
	// KindTimeout bounds the wait for a kind that neither the cluster nor the
	// stream defines; default 30s (k8sconnect ADR-007), negative: no wait.
	KindTimeout time.Duration
	// CRDTimeout bounds the wait for one CustomResourceDefinition to be
	// established and served; default 30s (KubeVela KEP-0005), negative: the
	// timeout of its wave applies.
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
	// Secrets are those beside the plan's whose values no message and no log
	// shows, such as the Secrets of hooks.
	Secrets []*unstructured.Unstructured
	// SkipWait reports which resources are applied without waiting for their
	// readiness, in addition to those whose layer says so; default none.
	SkipWait func(object.ID) bool
	// Events is called with every transition, always from one goroutine. The
	// run stands still until it returns. Default: discard.
	Events func(Event)
}

// Result is the outcome of one resource. A time is zero when the resource did
// not get that far.
type Result struct {
	ID    object.ID
	Layer string // the layer that the resource is in; "" for none
	Wave  int    // index into the plan's waves
	State State  // a final one
	// Detail is the reason for the outcome, or what the resource waited for
	// last.
	Detail string
	Err    error // an *Error with state Failed or TimedOut, else nil
	// Unchanged is set when nothing was sent: the object was as it had been
	// applied before, or did not exist when it was to be deleted.
	Unchanged bool
	Assumed   bool // ready, though its status does not say so
	Absent    bool // it is proven that the object did not exist when the run began
	Member    bool // it is proven that the object existed, as a member of the set
	Adopted   bool // the object existed, and was not a member of the set
	// Created is the uid of the object that the run is proven to have created;
	// "" when it did not, when that is unknown, or when its PATCH was not
	// answered.
	Created        types.UID
	FailedAttempts int       // failed attempts to apply it
	Sent           time.Time // its first PATCH
	Applied        time.Time // the answer to its PATCH
	Done           time.Time // its final state
}

// Took returns the time from the first PATCH of the resource to its final
// state; 0 if nothing was sent.
func (r Result) Took() time.Duration {
	if r.Sent.IsZero() {
		return 0
	}
	return r.Done.Sub(r.Sent)
}

// Summary is the outcome of a run, with one result per step in plan order.
type Summary struct {
	Results []Result
	Took    time.Duration // the whole run, without the diagnosis of failures
	// Hooks are the results of the hooks that ran around the plan, in the
	// order in which they ran.
	Hooks []Result
	// OutOfTime is set when the run's timeout expired before everything was
	// done.
	OutOfTime bool
}

// Count returns the number of resources that ended in a state.
func (s Summary) Count(state State) int {
	n := 0
	for _, r := range s.Results {
		if r.State == state {
			n++
		}
	}
	return n
}

// Assumed returns the number of resources that are ready by assumption only:
// nothing in their status says so.
func (s Summary) Assumed() int {
	n := 0
	for _, r := range s.Results {
		if r.Assumed {
			n++
		}
	}
	return n
}

// Append joins the summary with that of a run that followed. It is out of time if
// either is.
func (s Summary) Append(next Summary) Summary {
	return Summary{
		Results: append(slices.Clone(s.Results), next.Results...), Took: s.Took + next.Took,
		Hooks:     append(slices.Clone(s.Hooks), next.Hooks...),
		OutOfTime: s.OutOfTime || next.OutOfTime,
	}
}

// Unchanged returns the number of resources for which nothing was sent.
func (s Summary) Unchanged() int {
	n := 0
	for _, r := range s.Results {
		if r.Unchanged {
			n++
		}
	}
	return n
}

// Run applies the plan and returns when every resource is in a final state.
// objects holds the manifest of each step; they are not changed. The error joins
// all failures in plan order, each an *Error, and what ended the run early:
// ErrInterrupted when ctx was canceled, a *RunTimeoutError, the cause of ctx when
// that wraps kube.ErrFenced, or the error of Begin or First.
func (a Applier) Run(ctx context.Context, plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured) (Summary, error) {
	return newRun(a.withDefaults(), plan, objects).execute(ctx)
}

// Send applies one object by the PATCH that Run sends, once, and does not wait for
// it. Its error is that of the API server, with a remedy; a live object that is
// terminating is an error, too.
func (a Applier) Send(ctx context.Context, obj *unstructured.Unstructured) error {
	a = a.withDefaults()
	kind, _ := a.Cluster.Kind(obj.GroupVersionKind())
	live, err := a.execute(ctx, request{op: opPatch, kind: kind, obj: obj, options: kube.PatchOptions{Manager: a.Manager, Force: a.ForceConflicts, DryRun: a.DryRun}})
	if err != nil {
		return kubeerr.Explain(kubeerr.WithoutSecretValues(obj, err))
	}
	if live.GetDeletionTimestamp() != nil {
		return fmt.Errorf("it is being deleted%s: wait until it is gone, then run this again", kube.DeletionBlockers(live))
	}
	return nil
}

func (a Applier) withDefaults() Applier {
	if a.Manager == "" {
		a.Manager = "ordapply"
	}
	if a.Workers <= 0 {
		a.Workers = 32
	}
	if a.WaveTimeout == 0 {
		a.WaveTimeout = 5 * time.Minute
	}
	if a.KindTimeout == 0 {
		a.KindTimeout = 30 * time.Second
	}
	if a.CRDTimeout == 0 {
		a.CRDTimeout = 30 * time.Second
	}
	if a.StatusGrace == 0 {
		a.StatusGrace = 15 * time.Second
	}
	if a.Health == nil {
		a.Health = &health.Assessor{}
	}
	if a.Begin == nil {
		a.Begin = func(context.Context) error { return nil }
	}
	if a.SkipWait == nil {
		a.SkipWait = func(object.ID) bool { return false }
	}
	if a.Events == nil {
		a.Events = func(Event) {}
	}
	return a
}

// TimedOutOnly reports whether the run failed by timeouts only, so that waiting
// longer, or another run, may help.
func (s Summary) TimedOutOnly() bool {
	hooks := Summary{Results: s.Hooks}
	return (s.OutOfTime || s.Count(TimedOut)+hooks.Count(TimedOut) > 0) && s.Count(Failed)+hooks.Count(Failed) == 0
}
