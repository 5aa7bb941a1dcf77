package write

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
)

// WasCreatedBy reports whether a field manager applied an object before any
// other manager wrote it. Times of managedFields are whole seconds: the same
// second proves nothing. Writes to subresources follow the creation and do
// not count.
func WasCreatedBy(live *unstructured.Unstructured, manager string) bool {
	var own *applyset.Writer
	var others []time.Time
	for w := range applyset.Writers(live) {
		switch {
		case w.Subresource != "":
		case w.Manager != manager:
			others = append(others, w.Time())
		case w.Operation == metav1.ManagedFieldsOperationApply:
			own = &w
		}
	}
	return own != nil && !slices.ContainsFunc(others, func(other time.Time) bool { return !own.Time().Before(other) })
}

// ExistingOf returns the proven state of a live object before a run on a set writes it.
func ExistingOf(live *unstructured.Unstructured, set string) event.Existing {
	return event.Existing{ID: kube.Meta(live).ID, Origin: OriginOf(live, set), Known: true, WrittenBySet: WrittenOnlyBy(live, set)}
}

// OriginOf returns the origin of a live object before a run on a set writes it.
func OriginOf(live *unstructured.Unstructured, set string) event.Origin {
	if applyset.Owner(live) == set {
		return event.Origin{Member: true, Former: event.Former{UID: live.GetUID()}}
	}
	return event.Origin{Adopted: true, Former: formerOf(live)}
}

// WrittenOnlyBy reports whether only field managers of a set wrote a live object. Status does
// not count.
func WrittenOnlyBy(live *unstructured.Unstructured, set string) bool {
	for w := range applyset.Writers(live) {
		if w.Subresource == "" && !applyset.IsManager(w.Manager, set) {
			return false
		}
	}
	return true
}

// formerOf returns the owner of a live object before a run adopts it.
func formerOf(live *unstructured.Unstructured) event.Former {
	former := event.Former{UID: live.GetUID(), Set: applyset.Owner(live)}
	if former.Set != "" {
		former.Managers = applyset.MembershipManagers(live)
		return former
	}
	for w := range applyset.Writers(live) {
		if w.Subresource == "" && !slices.Contains(former.Managers, w.Manager) {
			former.Managers = append(former.Managers, w.Manager)
		}
	}
	return former
}
