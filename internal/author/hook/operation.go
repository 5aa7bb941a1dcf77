package hook

import (
	"slices"

	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Operation is a change of a release, with hooks before and after it.
type Operation string

// The operations.
const (
	Install  Operation = "install"  // the first apply
	Upgrade  Operation = "upgrade"  // any later apply
	Rollback Operation = "rollback" // the apply of an earlier revision
)

// Pre returns the event before the operation.
func (o Operation) Pre() Event { return Event("pre-" + o) }

// Post returns the event after the operation.
func (o Operation) Post() Event { return Event("post-" + o) }

// Pre returns the event before an operation: for Argo CD, each is a sync.
func (all Hooks) Pre(o Operation) Event {
	if all.AreArgo() {
		return PreSync
	}
	return o.Pre()
}

// Post returns the event after an operation.
func (all Hooks) Post(o Operation) Event {
	if all.AreArgo() {
		return PostSync
	}
	return o.Post()
}

// OfSync are the events of a sync of Argo CD, in their order.
func OfSync() []Event { return []Event{PreSync, Sync, PostSync, SyncFail} }

// EventsOf are the events at which hooks of an operation may run.
func (all Hooks) EventsOf(o Operation) []Event {
	if all.AreArgo() {
		return OfSync()
	}
	return []Event{o.Pre(), o.Post()}
}

// EventsOfApply are the events at which hooks of an apply may run, whichever operation it is.
func (all Hooks) EventsOfApply() []Event {
	if all.AreArgo() {
		return OfSync()
	}
	var events []Event
	for _, o := range []Operation{Install, Upgrade, Rollback} {
		events = append(events, all.EventsOf(o)...)
	}
	return events
}

// OfApply reports whether any hook runs at an install, an upgrade or a rollback. If none does,
// the kind of operation need not be determined.
func (all Hooks) OfApply() bool {
	return slices.ContainsFunc(all.EventsOfApply(), func(event Event) bool { return len(all.Of(event)) > 0 })
}

// DependOnOperation reports whether other hooks run at an install than at an upgrade.
func (all Hooks) DependOnOperation() bool { return !all.AreArgo() && all.OfApply() }

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
			if kind := references.DefinedKind(r.Object); kinds[kind.Kind+"."+kind.Group] {
				out[r.ID] = true
			}
		}
	}
	return out
}
