package hooks

import (
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Operation is what is done to a release, with hooks before and after it.
type Operation string

// The operations.
const (
	Install  Operation = "install"  // the first apply
	Upgrade  Operation = "upgrade"  // any later apply
	Rollback Operation = "rollback" // the apply of an earlier revision
	Delete   Operation = "delete"   // the deletion of all
)

// Pre returns the event before the operation.
func (o Operation) Pre() Event { return Event("pre-" + o) }

// Post returns the event after the operation.
func (o Operation) Post() Event { return Event("post-" + o) }

// OfApply reports whether any hook runs at an install, an upgrade or a rollback: else it
// does not matter which of them an apply is.
func (all Hooks) OfApply() bool {
	for _, operation := range []Operation{Install, Upgrade, Rollback} {
		if len(all.Of(operation.Pre()))+len(all.Of(operation.Post())) > 0 {
			return true
		}
	}
	return false
}

// Prerequisites returns the resources of a stream without which its hooks cannot be
// created: the Namespaces that they live in, and the definitions of their kinds. Helm
// creates these only after the hooks, which then fail; here they go first.
func (all Hooks) Prerequisites(resources []ordering.Resource) map[object.ID]bool {
	namespaces, kinds := map[string]bool{}, map[string]bool{}
	for _, hook := range all {
		namespaces[hook.Namespace], kinds[hook.GroupKind()] = true, true
	}
	out := map[object.ID]bool{}
	for _, r := range resources {
		switch r.GroupKind() {
		case "Namespace":
			if namespaces[r.Name] {
				out[r.ID] = true
			}
		case "CustomResourceDefinition.apiextensions.k8s.io":
			if kinds[definedKind(r)] {
				out[r.ID] = true
			}
		}
	}
	return out
}

// definedKind returns the kind that a CustomResourceDefinition defines, as "Kind.group".
func definedKind(r ordering.Resource) string {
	spec, _ := r.Object["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	kind, _ := names["kind"].(string)
	group, _ := spec["group"].(string)
	return kind + "." + group
}
