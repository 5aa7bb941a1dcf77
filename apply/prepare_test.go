package apply_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/memcluster"
)

// setting returns a manifest of a ConfigMap with a value.
func setting(name, value string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "shop"}, "data": map[string]any{"value": value}}
}

// finals collects the final states by resource, and fails when one has two.
func finals(t *testing.T, into map[string]event.State) func(event.Event) {
	return func(e event.Event) {
		if e.ID != (object.ID{}) && e.State.Final() {
			require.NotContains(t, into, e.ID.Name)
			into[e.ID.Name] = e.State
		}
	}
}

// Prepare writes nothing. It returns the state of the objects in plan order, which an abandoned
// run reports too.
func TestPrepare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newControlled()
		cluster.mustRun(t, apply.Applier{}, shopNamespace(), setting("b", "old"))
		plan, stream := planOf(t, shopNamespace(), setting("a", "new"), setting("b", "new"))
		ended := map[string]event.State{}
		cluster.ResetRequests()
		prepared, _, err := apply.Applier{Cluster: cluster, Events: finals(t, ended)}.Prepare(t.Context(), plan, stream.Objects)
		require.NoError(t, err)
		var absent []bool
		for i, e := range prepared.Existing() {
			require.Equal(t, plan.Steps[i].ID, e.ID)
			require.True(t, e.Known)
			absent = append(absent, e.Absent)
		}
		require.Equal(t, []bool{false, true, false}, absent)

		full := errors.New("the history is full")
		summary, err := prepared.Abandon(full)
		require.ErrorIs(t, err, full)
		require.Empty(t, cluster.Patched)
		require.Equal(t, map[string]event.State{"shop": event.NotStarted, "a": event.NotStarted, "b": event.NotStarted}, ended)
		require.Equal(t, ended, states(summary))
	})
}

// A run that Prepare ends reports a final state for every resource.
func TestPrepareEndsTheRun(t *testing.T) {
	malformed := func() map[string]any {
		m := setting("b", "new")
		m["kind"], m["data"] = "Secret", map[string]any{"key": "no base64"}
		return m
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	fenced, fence := context.WithCancelCause(t.Context())
	fence(kube.ErrFenced)
	for name, c := range map[string]struct {
		ctx   context.Context //nolint:containedctx // of a case
		slow  time.Duration   // the LIST
		other map[string]any
		state event.State // of the other resource
		want  error       // nil: of the resource
	}{
		"refused":     {t.Context(), 0, malformed(), event.Failed, nil},
		"timed out":   {t.Context(), time.Minute, setting("b", "new"), event.NotStarted, &event.RunTimeoutError{}},
		"interrupted": {canceled, 0, setting("b", "new"), event.NotStarted, event.ErrInterrupted},
		"fenced":      {fenced, 0, setting("b", "new"), event.NotStarted, kube.ErrFenced},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster, ended := newControlled(), map[string]event.State{}
				cluster.Lists = true
				cluster.Refuse = func(verb string, _ kube.Kind, _, _ string) error {
					if verb == "list" {
						time.Sleep(c.slow)
					}
					return nil
				}
				plan, stream := planOf(t, setting("a", "new"), c.other)
				applier := apply.Applier{Cluster: cluster, Timeout: 30 * time.Second, Events: finals(t, ended)}
				prepared, summary, err := applier.Prepare(c.ctx, plan, stream.Objects)
				require.Nil(t, prepared)
				switch want := c.want.(type) { //nolint:errorlint // of the table
				case nil:
					require.ErrorIs(t, err, summary.Results[1].Err)
				case *event.RunTimeoutError:
					require.ErrorAs(t, err, &want)
					require.True(t, want.NothingSent)
					require.True(t, summary.OutOfTime)
				default:
					require.ErrorIs(t, err, c.want)
				}
				require.Equal(t, map[string]event.State{"a": event.NotStarted, "b": c.state}, ended)
				require.Equal(t, ended, states(summary))
				require.Empty(t, cluster.Patched)
			})
		})
	}
}

// The timeout of a run covers Prepare, and what its caller does before Run; an interrupt and a
// fence in between end it too.
func TestBetweenPrepareAndRun(t *testing.T) {
	for name, c := range map[string]struct {
		pause time.Duration
		end   error // of the context
		took  time.Duration
		state event.State
	}{
		"timeout expires":  {time.Minute, nil, time.Minute, event.NotStarted},
		"timeout goes on":  {20 * time.Second, nil, 30 * time.Second, event.TimedOut},
		"interrupted":      {0, context.Canceled, 0, event.NotStarted},
		"may not write":    {0, kube.ErrFenced, 0, event.NotStarted},
		"interrupted late": {time.Minute, context.Canceled, time.Minute, event.NotStarted},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancelCause(t.Context())
				defer end(nil)
				cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("never"): {Never: true}}}
				plan, stream := planOf(t, plainPod("never"))
				prepared, _, err := apply.Applier{Cluster: cluster, NewNamespace: "new", Timeout: 30 * time.Second, NoDiagnosis: true}.Prepare(ctx, plan, stream.Objects)
				require.NoError(t, err)
				time.Sleep(c.pause)
				if c.end != nil {
					end(c.end)
				}
				summary, err := prepared.Run(ctx, apply.Hooks{})
				require.Equal(t, c.took, summary.Took)
				require.Equal(t, c.state, summary.Results[0].State)
				require.Equal(t, c.state == event.NotStarted, len(cluster.Happened()) == 0)
				require.Equal(t, errors.Is(c.end, context.Canceled), errors.Is(err, event.ErrInterrupted))
				require.Equal(t, errors.Is(c.end, kube.ErrFenced), errors.Is(err, kube.ErrFenced))
				require.Equal(t, c.end == nil && c.state == event.NotStarted, summary.OutOfTime)
			})
		})
	}
}

// After Reread the run judges objects as they are now, not as Prepare read them.
func TestReread(t *testing.T) {
	for _, reread := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			cluster := newControlled()
			cluster.Lists = true
			cluster.mustRun(t, apply.Applier{}, shopNamespace(), setting("a", "mine"))
			plan, stream := planOf(t, shopNamespace(), setting("a", "mine"))
			cluster.ResetRequests()
			prepared, _, err := apply.Applier{Cluster: cluster}.Prepare(t.Context(), plan, stream.Objects)
			require.NoError(t, err)
			id := object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "a"}
			cluster.Edit(id, func(live *unstructured.Unstructured) { live.SetManagedFields(nil) })
			if reread {
				prepared.Reread()
			}
			summary, err := prepared.Run(t.Context(), apply.Hooks{})
			require.NoError(t, err)
			require.Equal(t, !reread, summary.Results[slices.IndexFunc(plan.Steps, func(s ordering.Step) bool { return s.ID == id })].Unchanged)
		})
	}
}
