package rbac

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/hooks"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/live/access"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// HookPermissions returns the permissions for the hooks of an apply, or of a
// rollback, and of additional events.
func HookPermissions(stream *apply.Stream, source ordering.OrderSource, kinds kube.Kinds, diagnosis, rollback bool, more ...hook.Event) kube.Permissions {
	all, _ := hook.Read(stream.Hooks, source)
	if all.AreArgo() {
		return hooks.Permissions(all, kinds, diagnosis, append(more, hook.OfSync()...)...)
	}
	events := append(more, hook.PreInstall, hook.PostInstall, hook.PreUpgrade, hook.PostUpgrade)
	if rollback {
		events = append(more, hook.PreRollback, hook.PostRollback)
	}
	p := hooks.Permissions(all, kinds, diagnosis, events...)
	if !rollback && all.OfApply() {
		p.Add(hooks.OperationPermissions(stream.Resources, kinds))
	}
	return p
}

// CreationPermissions returns the permissions for deleting objects that a run
// creates, and for distinguishing them from existing ones.
func CreationPermissions(objects map[object.ID]*unstructured.Unstructured, kinds kube.Kinds) kube.Permissions {
	all := access.RemovalPermissions(objects, kinds)
	lists := slices.DeleteFunc(slices.Clone(all.Optional), func(p kube.Permission) bool { return p.Verb != "list" || p.Namespace == "" })
	for id, obj := range objects {
		if kind, known := kinds(obj.GroupVersionKind()); known && id.Namespace == "" {
			lists = append(lists, kube.Permission{Verb: "list", Resource: kind.Resource})
		}
	}
	all.Add(kube.Permissions{Required: lists})
	return all
}
