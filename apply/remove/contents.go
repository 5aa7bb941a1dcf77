package remove

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/live/diagnose"
	"github.com/ordapply/ordapply/object"
)

// The deletion of a Namespace deletes its contents, and that of a
// CustomResourceDefinition all custom resources of its kind, of any owner. Before
// deleting one of them, the run looks for objects in it that it would not delete
// anyway.

// isContainer reports whether a step's object must be inspected first.
func (r *removal) isContainer(i int) bool {
	id := r.steps[i].ID
	return id.IsNamespace() && !r.PruneNamespaces || id.IsCRD()
}

// keptBecause returns why a step's object must not be deleted; "" when it may be. A
// Namespace with protected contents is kept even with PruneNamespaces.
func (r *removal) keptBecause(i int) string {
	s := &r.steps[i]
	if why := cmp.Or(r.protection(s.live), ownsReason(s.owns)); why != "" || !s.ID.IsNamespace() || !r.PruneNamespaces {
		return why
	}
	var inside []object.ID
	for j := range r.steps {
		other := &r.steps[j]
		if other.ID.Namespace == s.ID.Name && other.state == event.Kept && r.protection(other.live) != "" {
			inside = append(inside, other.ID)
		}
	}
	if len(inside) == 0 {
		return ""
	}
	return "it contains protected objects: " + event.JoinNames(inside)
}

// contentsReason returns why an object is kept that has contents, or whose contents
// cannot be read; "" when it may be deleted.
func contentsReason(found []object.ID, err error, anyway string) string {
	switch {
	case err != nil:
		return "its contents cannot be read: " + fault.WithoutURL(err).Error() + anyway
	case len(found) > 0:
		return "it contains objects that are not part of this deletion: " + event.JoinNames(found) + anyway
	}
	return ""
}

// anyway names the command that deletes it nevertheless.
func (m Remover) anyway(id object.ID) string {
	switch {
	case id.IsNamespace() && m.NoPruneOption:
		return "; kubectl delete namespace " + id.Name + " deletes it with all its contents"
	case id.IsNamespace():
		return "; --prune-namespaces deletes it with all its contents"
	}
	return "; kubectl delete crd " + id.Name + " deletes it and them"
}

// contents returns the search with this run's deletions, as of now.
func (r *removal) contents() diagnose.Search {
	c := diagnose.Search{Cluster: r.Cluster, Deleting: map[types.UID]bool{}, DeletedAPIServices: map[string]bool{}, Ignored: r.Ignore}
	for i := range r.steps {
		s := &r.steps[i]
		if s.live == nil || s.state.Final() && s.state != event.Deleted {
			continue
		}
		c.Deleting[s.live.GetUID()] = true
		if s.ID.GroupKind() == "APIService.apiregistration.k8s.io" {
			c.DeletedAPIServices[s.ID.Name] = true
		}
	}
	return c
}

// protection returns why a live object must not be deleted; "" when it may be.
func (m Remover) protection(live *unstructured.Unstructured) string {
	why := ""
	if protection := applyset.Protection(live, m.Removal); protection != "" && !m.Unprotected {
		why = "its annotation " + protection + " protects it"
	}
	if record := applyset.Record(live); why == "" && record != "" {
		why = "it is " + record
	}
	return cmp.Or(why, m.KeepReason(live))
}
