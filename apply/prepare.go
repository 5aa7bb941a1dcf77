package apply

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Prepared is a run that has read the live objects and passed its checks, and has written
// nothing. One goroutine calls Prepare and then the methods: they call Applier.Events.
type Prepared struct{ run *run }

// Begun is a run that has read nothing yet.
type Begun struct{ run func() (*run, error) }

// Begin begins a run, for a caller that has to find out something else before Prepare: what needs no
// request is computed meanwhile. objects holds the manifest of each step, and is not changed.
func (a Applier) Begin(plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured) *Begun {
	return &Begun{activity.InBackground(func() (*run, error) { return newRun(a.withDefaults(), plan, objects), nil })}
}

// Wait waits until the run reads the plan and the objects no more, for a caller that goes on without
// Prepare. Nil is no run.
func (b *Begun) Wait() {
	if b != nil {
		_, _ = b.run()
	}
}

// Prepare reads the live objects of the plan and makes the checks that precede the first write;
// it writes nothing: Begin and Begun.Prepare in one call, whose results it returns.
func (a Applier) Prepare(ctx context.Context, plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured) (*Prepared, event.Summary, error) {
	return a.Begin(plan, objects).Prepare(ctx)
}

// Prepare reads the live objects and makes the checks that precede the first write. It is called once,
// and Timeout counts from here. A run that ends here has no Prepared: its summary has the final state of
// every resource, and its error is that of Prepared.Run.
func (b *Begun) Prepare(ctx context.Context) (*Prepared, event.Summary, error) {
	started := time.Now()
	r, _ := b.run()
	r.startedAt, r.applier.Timeout = started, loop.RunTimeout(ctx, r.applier.Timeout)
	var reads []request.LiveObject
	reads, r.allMembersNamed = r.snapshot.Read(ctx, r.applier.Timeout, r.readNamespaces()...)
	for i, read := range reads {
		r.steps[i].read = read
	}
	r.recordExistence()
	if r.preflight(ctx); !r.Finished {
		r.endIfOver(ctx)
	}
	if r.Finished {
		r.close()
		if summary, err := r.summary(); err != nil {
			return nil, summary, err
		}
	}
	return &Prepared{r}, event.Summary{}, nil
}

// Existing returns the state in which Prepare found the objects, in plan order.
func (p *Prepared) Existing() []event.Existing { return p.run.existing() }

// NamesAllMembers returns a function that reports whether Prepare saw all objects of a kind in a
// namespace, "" for a cluster-scoped kind, and manifests for all of these with the label of the
// run's set. It keeps nothing else of the run.
func (p *Prepared) NamesAllMembers() func(kind schema.GroupKind, namespace string) bool {
	named := p.run.allMembersNamed
	return func(kind schema.GroupKind, namespace string) bool {
		return named[request.Place{Kind: kind, Namespace: namespace}]
	}
}

// Reread makes Run read objects again before it judges or sends them: something has changed the
// cluster since Prepare.
func (p *Prepared) Reread() {
	p.run.namespaces = nil
	p.run.requireAllFresh()
}

// Run applies the plan, and returns when every resource is in a final state. It is called once.
// The error joins all failures in plan order, each an *event.Error, and the cause of an early
// end: event.ErrInterrupted when ctx was canceled, an *event.RunTimeoutError, or the cause of
// ctx when that wraps kube.ErrFenced.
func (p *Prepared) Run(ctx context.Context, hooks Hooks) (event.Summary, error) {
	r := p.run
	if r.endIfOver(ctx); r.Finished {
		return p.Abandon(nil)
	}
	if err := r.applier.MakeNamespace(ctx, r.plan); err != nil {
		return p.Abandon(err)
	}
	r.addHooks(ctx, hooks)
	r.StartWorkers(ctx, r.workers())
	if r.applier.Timeout > 0 {
		r.After(r.applier.Timeout-time.Since(r.startedAt), func() { r.Stop(loop.ByRunTimeout) })
	}
	r.checkNamespaces()
	r.watchStillness()
	r.beginSchedule()
	r.advance()
	r.RunLoop(ctx, r.advance)
	r.close()
	r.diagnose(ctx)
	return r.summary()
}

// Abandon ends the run instead of Run, because of an error: no resource is applied. The error is
// joined with those of resources that had failed already, see Applier.KeepGoing.
func (p *Prepared) Abandon(cause error) (event.Summary, error) {
	p.run.close()
	summary, err := p.run.summary()
	return summary, errors.Join(cause, err)
}

// endIfOver ends a run whose time is over, or whose context is done, before its loop starts.
func (r *run) endIfOver(ctx context.Context) {
	switch {
	case ctx.Err() != nil:
		r.End = loop.End{Finished: true, EndedBy: loop.EndOf(ctx), Cause: context.Cause(ctx)}
	case r.applier.Timeout > 0 && time.Since(r.startedAt) >= r.applier.Timeout:
		r.End = loop.End{Finished: true, EndedBy: loop.ByRunTimeout}
	}
}
