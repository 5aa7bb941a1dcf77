package hooks

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	authorhook "github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/live/access"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Permissions returns the permissions for running hooks: each is applied,
// waited for, and deleted before, after or instead.
func Permissions(all authorhook.Hooks, kinds kube.Kinds, diagnosis bool, events ...authorhook.Event) kube.Permissions {
	plan := &ordering.Plan{Waves: []ordering.Wave{{}}}
	objects, removed := map[object.ID]*unstructured.Unstructured{}, map[object.ID]*unstructured.Unstructured{}
	ungated := map[object.ID]bool{}
	var logs kube.Permissions // and of other reads
	for _, event := range events {
		for _, hook := range all.Of(event) {
			if objects[hook.ID] != nil {
				continue
			}
			one, live := hookPlan([]authorhook.Hook{hook}, NoSet)
			plan.Steps = append(plan.Steps, one.Steps...)
			objects[hook.ID], ungated[hook.ID] = live[hook.ID], one.Steps[0].Gate == ordering.Applied
			logs.Add(logPermissions(hook))
			if kind, served := kinds(live[hook.ID].GroupVersionKind()); served && hook.IsUnnamed() { // to find leftovers
				logs.Optional = append(logs.Optional, kube.Permission{Verb: "list", Resource: kind.Resource, Namespace: hook.Namespace})
			}
			if !hook.IsKept() {
				removed[hook.ID] = live[hook.ID]
			}
		}
	}
	a := apply.Applier{Health: Runner{}.assessor(nil), NoDiagnosis: !diagnosis, SkipWait: func(id object.ID) bool { return ungated[id] }}
	p := a.Permissions(plan, objects, kinds)
	p.Add(access.RemovalPermissions(removed, kinds))
	p.Add(logs)
	return p
}
