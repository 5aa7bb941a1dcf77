package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Applier applies plans. The zero value of each optional field is the
// documented default.
type Applier struct {
	Cluster Cluster // required
	// Manager is the field manager; default "ordapply".
	Manager string
	// ForceConflicts takes fields that other managers own, when the API server
	// refused to give them.
	ForceConflicts bool
	// Membership makes the resources members of an apply set; default: of none.
	Membership Membership
	// Sent are resources that Send has applied just now, for this run.
	Sent []object.ID
	// Begin is called once, when all that exists of the stream is known and
	// nothing is written yet. Its error ends the run; default: nothing.
	Begin func(context.Context) error
	// First is called after Begin, before the first write of the plan, unless DryRun:
	// it may change the cluster, and reports whether it did, so that what was read
	// before is not believed. Its error ends the run; default: nothing.
	First func(context.Context) (changed bool, err error)
	// DryRun lets the server validate every resource and stores none. Nothing
	// is waited for.
	DryRun bool
	// Schedule says how the plan's order is kept; default Waves.
	Schedule Schedule
	// Workers bounds the requests in flight; default 32.
	Workers int
	// Timeout bounds the run; default none.
	Timeout time.Duration
	// WaveTimeout bounds each wave that no layer gives a timeout; default 5m,
	// negative: none.
	WaveTimeout time.Duration
	// KindTimeout bounds the wait for a kind that neither the cluster nor the
	// stream defines; default 30s (k8sconnect ADR-007), negative: no wait.
	KindTimeout time.Duration
	// CRDTimeout bounds the wait for one CustomResourceDefinition to be
	// established and served; default 30s (KubeVela KEP-0005), negative: its
	// wave's.
	CRDTimeout time.Duration
	// StatusGrace is how long a custom resource may be without a status that says
	// how it is, or with one that may be about the spec before this run changed it,
	// before it is judged all the same; default 15s, negative: not at all.
	StatusGrace time.Duration
	// Health judges live objects; default: by the rules that come with package
	// health.
	Health *health.Assessor
	// NoDiagnosis leaves it unasked why something did not become ready.
	NoDiagnosis bool
	// Ungated tells which resources are applied without waiting for their
	// readiness, beside those whose layer says so; default none.
	Ungated func(object.ID) bool
	// Events takes every transition, always from one goroutine; default:
	// discard.
	Events func(Event)
}

// Result is how one resource ended. A time is zero when the resource did not
// get there.
type Result struct {
	ID    object.ID
	Layer string
	Wave  int
	State State
	// Detail says why it ended so, or what it waited for last.
	Detail string
	Err    error
	// Unchanged says that nothing was sent: the object was as it had been applied
	// before, or was not there to be deleted.
	Unchanged bool
	Assumed   bool // ready, though nothing in the object says so
	// Absent says that the object surely was not there when the run began, and
	// Created is the uid of the one that the run surely created; "" when it did not,
	// when that is not known, or when its PATCH was not answered. Member says that it
	// surely was there as a member of the set, and Adopted that it was there as none.
	Absent  bool
	Member  bool
	Adopted bool
	Created types.UID
	Refused int       // attempts to apply it that failed
	Sent    time.Time // its first PATCH
	Applied time.Time // the answer to its PATCH
	Done    time.Time // its final state
}

// Took is how long the resource took from its first PATCH to its final state.
func (r Result) Took() time.Duration {
	if r.Sent.IsZero() {
		return 0
	}
	return r.Done.Sub(r.Sent)
}

// Summary is how a run ended, one result per step, in plan order.
type Summary struct {
	Results []Result
	Took    time.Duration
	// Hooks are how the hooks ended that ran around the plan, in the order in which
	// they ran.
	Hooks []Result
	// OutOfTime says that the run's own time was over before all was done.
	OutOfTime bool
}

// Count says how many resources ended in a state.
func (s Summary) Count(state State) int {
	n := 0
	for _, r := range s.Results {
		if r.State == state {
			n++
		}
	}
	return n
}

// Assumed says how many resources are ready only by assumption: nothing in their
// status says so.
func (s Summary) Assumed() int {
	n := 0
	for _, r := range s.Results {
		if r.Assumed {
			n++
		}
	}
	return n
}

// And is this run with one that followed it.
func (s Summary) And(next Summary) Summary {
	return Summary{
		Results: append(slices.Clone(s.Results), next.Results...), Took: s.Took + next.Took,
		Hooks: append(slices.Clone(s.Hooks), next.Hooks...),
	}
}

// Unchanged says for how many resources nothing was sent.
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
// objects holds the manifest of each step. The error joins all failures in
// plan order, each an *Error; it is ErrInterrupted when ctx ended the run.
func (a Applier) Run(ctx context.Context, plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured) (Summary, error) {
	return newRun(a.withDefaults(), plan, objects).execute(ctx)
}

// Send applies one object as Run would, and waits for nothing. An older one that
// is being deleted is an error.
func (a Applier) Send(ctx context.Context, obj *unstructured.Unstructured) error {
	a = a.withDefaults()
	kind, _ := a.Cluster.Kind(obj.GroupVersionKind())
	live, err := a.do(ctx, request{op: opPatch, kind: kind, obj: obj, options: PatchOptions{Manager: a.Manager, Force: a.ForceConflicts, DryRun: a.DryRun}})
	if err != nil {
		return explain(withoutSecrets(obj, err))
	}
	if live.GetDeletionTimestamp() != nil {
		return fmt.Errorf("it is being deleted%s: wait until it is gone, then run this again", HeldBy(live))
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
	if a.Ungated == nil {
		a.Ungated = func(object.ID) bool { return false }
	}
	if a.Events == nil {
		a.Events = func(Event) {}
	}
	return a
}

// TimedOutOnly tells whether everything that went wrong is that something was
// not ready in time.
func (s Summary) TimedOutOnly() bool {
	hooks := Summary{Results: s.Hooks}
	return (s.OutOfTime || s.Count(TimedOut)+hooks.Count(TimedOut) > 0) && s.Count(Failed)+hooks.Count(Failed) == 0
}
