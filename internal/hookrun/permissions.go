package hookrun

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/hooks"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Permissions tells what running hooks asks for: each is applied, waited for, and
// deleted before, after or instead.
func Permissions(all hooks.Hooks, kinds apply.Kinds, diagnosis bool, events ...hooks.Event) apply.Permissions {
	plan := &ordering.Plan{Waves: []ordering.Wave{{}}}
	objects, removed := map[object.ID]*unstructured.Unstructured{}, map[object.ID]*unstructured.Unstructured{}
	ungated := map[object.ID]bool{}
	for _, event := range events {
		for _, hook := range all.Of(event) {
			if objects[hook.ID] != nil {
				continue
			}
			one, live := single(hook, NoSet)
			plan.Steps = append(plan.Steps, one.Steps...)
			objects[hook.ID], ungated[hook.ID] = live[hook.ID], one.Steps[0].Gate == ordering.Applied
			if !hook.Stays() {
				removed[hook.ID] = live[hook.ID]
			}
		}
	}
	a := apply.Applier{Health: assessor(), NoDiagnosis: !diagnosis, Ungated: func(id object.ID) bool { return ungated[id] }}
	p := a.Permissions(plan, objects, kinds)
	p.Add(apply.RemovalPermissions(removed, kinds))
	return p
}
