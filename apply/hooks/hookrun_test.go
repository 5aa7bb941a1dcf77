package hooks

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/health"
	authorhook "github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/memcluster"
)

// recording is a cluster that records its writes. Jobs complete after a second, and Pods fail.
type recording struct {
	*memcluster.Controlled
	mu     sync.Mutex
	writes []string // "+name" for a PATCH, "-name" for a DELETE
}

func newRecording(live ...string) *recording {
	c := &recording{Controlled: memcluster.NewControlled()}
	c.Lists = true
	c.Statuses["Job"] = map[time.Duration]map[string]any{time.Second: {"conditions": []any{memcluster.Condition("Complete", "True")}}}
	c.Statuses["Pod"] = map[time.Duration]map[string]any{time.Second: {"phase": "Failed"}}
	c.OnApplied = func(name string) { c.record("+" + name) }
	for _, text := range live {
		c.add(newObject(text))
	}
	return c
}

func (c *recording) add(obj *unstructured.Unstructured) {
	if obj.GetKind() == "CustomResourceDefinition" {
		obj.Object["status"] = map[string]any{"conditions": []any{memcluster.Condition("Established", "True"), memcluster.Condition("NamesAccepted", "True")}}
	}
	kind, _ := c.Kind(obj.GroupVersionKind())
	c.Add(kind, obj)
}

func (c *recording) record(write string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes = append(c.writes, write)
}

// Delete implements kube.Cluster.
func (c *recording) Delete(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, o kube.DeleteOptions) error {
	c.record("-" + live.GetName())
	return c.Controlled.Delete(ctx, kind, live, o)
}

func (c *recording) runner() Runner {
	return Runner{Owner: mine, Applier: apply.Applier{Cluster: c, Manager: "me", NoDiagnosis: true}}
}

// The writes of an event, in order; "!" marks an event that failed.
func TestRun(t *testing.T) {
	const own = " ordapply.dev/hook-of=" + mine
	for name, c := range map[string]struct {
		hooks []string
		live  []string
		want  string
	}{
		"one after the other":       {[]string{"Job.batch b helm.sh/hook=pre-install", "ConfigMap a helm.sh/hook=pre-install", "Job.batch c helm.sh/hook=pre-install helm.sh/hook-weight=-1"}, nil, "+c +a +b"},
		"another event":             {[]string{"Job.batch a helm.sh/hook=post-install"}, nil, ""},
		"succeeded, the last first": {[]string{"Job.batch a helm.sh/hook=pre-install helm.sh/hook-delete-policy=hook-succeeded", "Job.batch b helm.sh/hook=pre-install helm.sh/hook-delete-policy=hook-succeeded"}, nil, "+a +b -b -a"},
		"failed":                    {[]string{"Pod a helm.sh/hook=pre-install helm.sh/hook-delete-policy=hook-failed", "ConfigMap b helm.sh/hook=pre-install"}, nil, "! +a -a"},
		"failed, the ones before":   {[]string{"ConfigMap a helm.sh/hook=pre-install helm.sh/hook-delete-policy=hook-succeeded", "ConfigMap b helm.sh/hook=pre-install helm.sh/hook-delete-policy=hook-failed", "Pod c helm.sh/hook=pre-install helm.sh/hook-delete-policy=hook-succeeded"}, nil, "! +a +b +c -a"},
		"refused":                   {[]string{"ConfigMap a helm.sh/hook=pre-install helm.sh/hook-delete-policy=hook-succeeded", "ConfigMap refused helm.sh/hook=pre-install helm.sh/hook-delete-policy=hook-failed"}, nil, "! +a"},
		"there, replaced":           {[]string{"ConfigMap a helm.sh/hook=pre-install"}, []string{"ConfigMap a" + own}, "-a +a"},
		"there, overwritten":        {[]string{"ConfigMap a helm.sh/hook=pre-install helm.sh/hook-delete-policy=hook-failed"}, []string{"ConfigMap a" + own}, "+a"},
		"there, an old Job":         {[]string{"Job.batch a helm.sh/hook=pre-install helm.sh/hook-delete-policy=hook-failed"}, []string{"Job.batch a" + own}, "-a +a"},
		"there, foreign":            {[]string{"ConfigMap a helm.sh/hook=pre-install"}, []string{"ConfigMap a"}, "!"},
		"there, new one rejected":   {[]string{"ConfigMap rejected helm.sh/hook=pre-install"}, []string{"ConfigMap rejected" + own}, "!"},
		"there, a definition":       {[]string{"CustomResourceDefinition.apiextensions.k8s.io a helm.sh/hook=pre-install helm.sh/hook-delete-policy=before-hook-creation,hook-succeeded"}, []string{"CustomResourceDefinition.apiextensions.k8s.io a" + own}, "+a"},
		"Argo CD, wave by wave":     {[]string{"Job.batch b argocd.argoproj.io/hook=PreSync argocd.argoproj.io/hook-delete-policy=HookSucceeded", "ConfigMap a argocd.argoproj.io/hook=PreSync argocd.argoproj.io/sync-wave=1"}, nil, "+b +a"},
		"Argo CD, a wave at once":   {[]string{"Pod a argocd.argoproj.io/hook=PreSync argocd.argoproj.io/hook-delete-policy=HookFailed", "Job.batch b argocd.argoproj.io/hook=PreSync", "ConfigMap c argocd.argoproj.io/hook=PreSync argocd.argoproj.io/sync-wave=1"}, nil, "! +a +b"},
		"Namespace is gone":         {[]string{"ConfigMap a helm.sh/hook=pre-delete", "ValidatingWebhookConfiguration.admissionregistration.k8s.io b helm.sh/hook=pre-delete"}, nil, "+b"},
		"Namespace is a hook":       {[]string{"Namespace shop helm.sh/hook=pre-delete helm.sh/hook-weight=-1", "ConfigMap a helm.sh/hook=pre-delete"}, nil, "+shop +a"},
		"Namespace of an apply":     {[]string{"ConfigMap a helm.sh/hook=pre-install"}, nil, "+a"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := newRecording(c.live...)
				cluster.RefusePatch = func(obj *unstructured.Unstructured) error {
					if obj.GetName() == "refused" {
						return apierrors.NewForbidden(schema.GroupResource{}, "refused", nil)
					}
					return nil
				}
				cluster.Refuse = func(verb string, _ kube.Kind, _, name string) error {
					if verb == "create" && name == "rejected" {
						return apierrors.NewInvalid(schema.GroupKind{}, name, nil)
					}
					return nil
				}
				all := newHooks(t, c.hooks...)
				during := all[0].Events[0]
				if name == "another event" {
					during = authorhook.PreInstall
				}
				_, err := cluster.runner().Run(t.Context(), during, all)
				writes := strings.Join(cluster.writes, " ")
				if err != nil {
					writes = strings.TrimSpace("! " + writes)
					failure := new(event.Error)
					require.ErrorAs(t, err, &failure)
					require.Equal(t, string(during)+" hook", failure.Wave)
				}
				require.Equal(t, c.want, writes, err)
			})
		})
	}
}

// listedSchemas counts how often the documents of the schemas are listed. It has none.
type listedSchemas struct{ times int }

// Paths implements openapi.Client.
func (s *listedSchemas) Paths() (map[string]openapi.GroupVersion, error) {
	s.times++
	return nil, nil
}

// The fields of hooks were checked before the run; a definition may have changed since.
func TestFieldsAreCheckedOnce(t *testing.T) {
	for hook, want := range map[string]struct{ checked, unchecked int }{
		"ConfigMap a": {0, 1}, "Job.batch a": {0, 1}, "Gear.example.com a": {1, 1},
	} {
		for _, keepGoing := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				schemas := &listedSchemas{}
				a := newRecording().around(t, authorhook.Install, hook+" helm.sh/hook=pre-install")
				a.Runner.Applier.Schemas, a.Runner.Applier.KeepGoing = schemas, keepGoing
				_, err := a.runner().Run(t.Context(), authorhook.PreInstall, a.Hooks)
				require.NoError(t, err)
				if keepGoing {
					require.Equal(t, want.unchecked, schemas.times, hook)
				} else {
					require.Equal(t, want.checked, schemas.times, hook)
				}
			})
		}
	}
}

// The deletion of an owner deletes the objects of its hooks, a Namespace last. Definitions,
// protected objects and members of other sets stay, and so do objects that belong to another owner by their name.
func TestRemoveLeftovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const own = " ordapply.dev/hook-of=" + mine
		cluster := newRecording("Namespace a"+own, "Secret own"+own, "ConfigMap foreign", "ConfigMap other"+own, "ConfigMap kept ordapply.dev/lifecycle=keep"+own,
			"CustomResourceDefinition.apiextensions.k8s.io crd"+own)
		moved := newObject("ConfigMap moved" + own)
		moved.SetLabels(map[string]string{applyset.PartOfLabel: "applyset-other-v1"})
		cluster.add(moved)
		var texts []string
		for _, name := range []string{"Namespace a", "Secret own", "ConfigMap foreign", "ConfigMap other", "ConfigMap kept", "ConfigMap moved", "ConfigMap gone", "CustomResourceDefinition.apiextensions.k8s.io crd"} {
			texts = append(texts, name+" helm.sh/hook=test")
		}
		all, runner := newHooks(t, texts...), cluster.runner()
		for text, want := range map[string]bool{"Secret own" + own: true, "Secret unknown" + own: false, "Secret own": false, "Secret own ordapply.dev/lifecycle=keep" + own: false} {
			require.Equal(t, want, runner.WillRemove(all, newObject(text)), text)
		}
		_, err := runner.RemoveLeftovers(t.Context(), all, map[object.ID]bool{{Kind: "ConfigMap", Namespace: "shop", Name: "other"}: true})
		require.NoError(t, err)
		require.Equal(t, []string{"-own", "-a"}, cluster.writes)
	})
}

// An apply is an upgrade if an object of its manifests exists; Namespaces and
// CustomResourceDefinitions may come from elsewhere.
func TestOperationOf(t *testing.T) {
	resources := []ordering.Resource{resourceOf("Namespace shop"), resourceOf("CustomResourceDefinition.apiextensions.k8s.io gears"), resourceOf("Gear.example.com a"), resourceOf("ConfigMap a")}
	stream := &apply.Stream{Resources: resources, Objects: map[object.ID]*unstructured.Unstructured{}}
	for _, r := range resources {
		stream.Objects[r.ID] = &unstructured.Unstructured{Object: r.Object}
	}
	for live, want := range map[string]authorhook.Operation{
		"ConfigMap b": authorhook.Install, "Namespace shop": authorhook.Install, "CustomResourceDefinition.apiextensions.k8s.io gears": authorhook.Install,
		"ConfigMap a": authorhook.Upgrade, "Gear.example.com a": authorhook.Upgrade,
	} {
		operation, decided, err := OperationOf(t.Context(), newRecording(live), stream)
		require.NoError(t, err)
		require.Equal(t, want, operation, live)
		require.Equal(t, want == authorhook.Upgrade, decided.Name == "a", live)
	}
	unserved := newRecording()
	unserved.Gone = map[schema.GroupKind]bool{{Group: "example.com", Kind: "Gear"}: true}
	operation, _, err := OperationOf(t.Context(), unserved, stream)
	require.NoError(t, err)
	require.Equal(t, authorhook.Install, operation)
	unserved.Refuse = memcluster.Forbids("get", "list")
	_, _, err = OperationOf(t.Context(), unserved, stream)
	require.Error(t, err, "the hooks of an install must not run for an upgrade")
}

// A hook is done when its work is: a Pod that is ready still runs, and a suspended Job has not
// run. Argo CD's Pod that restarts for ever is done when it is ready.
func TestDone(t *testing.T) {
	pod := func(text, restart, phase string) *unstructured.Unstructured {
		obj := newObject(text)
		obj.Object["spec"] = map[string]any{"restartPolicy": restart}
		obj.Object["status"] = map[string]any{"phase": phase, "conditions": []any{memcluster.Condition("Ready", "True")}}
		return obj
	}
	const helm, argo = "Pod a helm.sh/hook=test", "Pod a argocd.argoproj.io/hook=Sync"
	for _, c := range []struct {
		text, restart, phase string
		want                 health.Verdict
	}{
		{helm, "Never", "Running", health.Progressing}, {helm, "Never", "Succeeded", health.Ready}, {helm, "Never", "Failed", health.Failed},
		{helm, "Always", "Running", health.Progressing},
		{argo, "Always", "Running", health.Ready}, {argo, "OnFailure", "Running", health.Progressing},
	} {
		found := Runner{}.assessor(newHooks(t, c.text)).Assess(pod(c.text, c.restart, c.phase))
		require.Equal(t, c.want, found.Verdict, "%v", c)
	}
	for _, c := range []struct {
		complete bool
		want     health.Verdict
	}{{false, health.Progressing}, {true, health.Ready}} {
		job := newObject("Job.batch a helm.sh/hook=test")
		job.Object["spec"] = map[string]any{"suspend": true}
		conditions := []any{memcluster.Condition("Suspended", "True")}
		if c.complete {
			conditions = append(conditions, memcluster.Condition("Complete", "True"))
		}
		job.Object["status"] = map[string]any{"conditions": conditions}
		found := Runner{}.assessor(newHooks(t, "Job.batch a helm.sh/hook=test")).Assess(job)
		require.Equal(t, c.want, found.Verdict)
		require.False(t, found.SuspendedBySpec, "a run does not wait for such an object")
	}
}
