package hooks

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/preview"
	authorhook "github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/memcluster"
)

// around returns the hooks of an operation around the apply of a Namespace, a definition of the
// chart's crds folder and a custom resource that the hooks make ready.
func (c *recording) around(t *testing.T, operation authorhook.Operation, hooks ...string) *Around {
	t.Helper()
	a := &Around{Runner: c.runner(), Hooks: newHooks(t, hooks...), Stream: &apply.Stream{Objects: map[object.ID]*unstructured.Unstructured{}, BeforeHooks: map[object.ID]bool{}}, Plan: &ordering.Plan{Waves: []ordering.Wave{{}}}}
	a.Operation = func(context.Context) (authorhook.Operation, error) { return operation, nil }
	for _, text := range []string{"Namespace shop", "Secret early", "Gear.example.com late"} {
		r := resourceOf(text)
		a.Stream.Resources = append(a.Stream.Resources, r)
		a.Stream.Objects[r.ID] = &unstructured.Unstructured{Object: r.Object}
		if r.Name == "early" {
			a.Stream.BeforeHooks[r.ID] = true
		}
		a.Plan.Steps = append(a.Plan.Steps, ordering.Step{ID: r.ID, AfterHooks: r.Name == "late"})
	}
	return a
}

// The Namespaces of hooks go first, and the chart's crds folder, except in a rollback: it has
// no such folder.
func TestPre(t *testing.T) {
	const upgrade = "ConfigMap a helm.sh/hook=pre-upgrade,pre-rollback"
	for name, c := range map[string]struct {
		operation authorhook.Operation
		hook      string
		want      string
	}{
		"upgrade":       {authorhook.Upgrade, upgrade, "+early +shop +a"},
		"rollback":      {authorhook.Rollback, upgrade, "+shop +a"},
		"install":       {authorhook.Install, upgrade, ""},
		"sync":          {"", "ConfigMap a argocd.argoproj.io/hook=PreSync", "+early +shop +a"},
		"only deletion": {"", "ConfigMap a helm.sh/hook=pre-delete", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := newRecording()
				a := cluster.around(t, c.operation, c.hook)
				if c.operation == "" {
					a.Operation = nil // the operation does not matter
				}
				changed, err := a.pre(t.Context())
				require.NoError(t, err)
				require.Equal(t, c.want != "", changed)
				require.ElementsMatch(t, strings.Fields(c.want), cluster.writes)
				if changed {
					require.Equal(t, "+a", cluster.writes[len(cluster.writes)-1])
					require.Len(t, a.WithHookResults(event.Summary{}).Hooks, 1, "a prerequisite is no hook")
				}
			})
		})
	}
}

// After the apply its hooks run, and then the run waits for the resources that depend on them.
// A failed hook ends the run before that.
func TestPost(t *testing.T) {
	for hook, want := range map[string]struct {
		writes string
		state  event.State
	}{"ConfigMap a": {"+a +late", event.Ready}, "Pod a": {"+a", event.Applied}} {
		synctest.Test(t, func(t *testing.T) {
			cluster := newRecording()
			cluster.Statuses["Gear"] = map[time.Duration]map[string]any{time.Minute: {"conditions": []any{memcluster.Condition("Ready", "True")}}}
			a := cluster.around(t, authorhook.Upgrade, hook+" helm.sh/hook=post-upgrade")
			_, err := a.pre(t.Context())
			require.NoError(t, err)
			require.Equal(t, "the post-upgrade hooks", a.next())
			applied := event.Summary{Results: []event.Result{{ID: a.Plan.Steps[2].ID, State: event.Applied}}}
			err = a.Post(t.Context(), applied)
			require.Equal(t, want.state == event.Ready, err == nil, err)
			require.Equal(t, want.writes, strings.Join(cluster.writes, " "))
			require.Equal(t, want.state, a.WithHookResults(applied).Results[0].State)
		})
	}
}

// A sync that failed runs Argo CD's hooks for it, and deletes hooks with the policy HookFailed.
// An interrupt and a lost lock fail no sync, and Helm has no such hooks.
func TestFail(t *testing.T) {
	argo := []string{"ConfigMap a argocd.argoproj.io/hook=PreSync argocd.argoproj.io/hook-delete-policy=HookFailed", "ConfigMap b argocd.argoproj.io/hook=SyncFail argocd.argoproj.io/hook-delete-policy=HookSucceeded"}
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		hooks       []string
		interrupted bool
		cause       error
		want        string
	}{
		"failed":      {argo, false, failed, "-a +b"},
		"succeeded":   {argo, false, nil, ""},
		"interrupted": {argo, true, failed, ""},
		"lost lock":   {argo, false, kube.ErrFenced, ""},
		"Helm":        {[]string{"ConfigMap a helm.sh/hook=pre-upgrade helm.sh/hook-delete-policy=hook-failed"}, false, failed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := newRecording()
				a := cluster.around(t, authorhook.Upgrade, c.hooks...)
				_, err := a.pre(t.Context())
				require.NoError(t, err)
				cluster.writes = nil
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.interrupted {
					cancel()
				}
				require.NoError(t, a.Fail(ctx, c.cause))
				require.Equal(t, c.want, strings.Join(cluster.writes, " "))
			})
		})
	}
}

// A preview reports a foreign object as the error of each hook that would replace it, and
// takes nothing over.
func TestAddTo(t *testing.T) {
	cluster := newRecording("ConfigMap foreign", "ConfigMap own ordapply.dev/hook-of="+mine)
	a := cluster.around(t, authorhook.Install, "ConfigMap foreign helm.sh/hook=pre-install,post-install,pre-upgrade", "ConfigMap own helm.sh/hook=pre-install")
	found := &preview.Preview{}
	require.NoError(t, a.AddTo(t.Context(), found))
	require.Equal(t, []string{"pre-install", "post-install"}, found.HookEvents)
	require.Len(t, found.HookErrors, 2)
	require.Empty(t, cluster.writes)
}

// The apply follows the hooks before it. It does not begin after one that failed, and a dry run
// runs none.
func TestApply(t *testing.T) {
	for name, c := range map[string]struct {
		hook   string
		dryRun bool
		writes string
		want   event.State
	}{
		"hook succeeds": {"ConfigMap a", false, "+shop +early +a +shop +early +late", event.Ready},
		"hook fails":    {"Pod a", false, "+shop +early +a", event.NotStarted},
		"dry run":       {"Pod a", true, "", event.Applied},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := newRecording()
				cluster.Statuses["Gear"] = map[time.Duration]map[string]any{time.Second: {"conditions": []any{memcluster.Condition("Ready", "True")}}}
				a := cluster.around(t, authorhook.Upgrade, c.hook+" helm.sh/hook=pre-upgrade")
				a.Runner.Applier.DryRun = c.dryRun
				prepared, _, err := a.Runner.Applier.Prepare(t.Context(), a.Plan, a.Stream.Objects)
				require.NoError(t, err)
				summary, err := a.Apply(t.Context(), prepared)
				require.Equal(t, c.want == event.NotStarted, err != nil, err)
				require.Equal(t, map[event.State]int{c.want: 3}, map[event.State]int(summary.Counts()))
				require.ElementsMatch(t, strings.Fields(c.writes), cluster.writes)
			})
		})
	}
}
