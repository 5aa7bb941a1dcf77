package write

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
)

// Owner is a run's set and manager.
type Owner struct {
	applyset.Membership
	Manager string // the field manager
	Force   applyset.Force
}

// AnswerError returns an error when an object, as the API server stored it, is no member of the
// set although it was sent as one.
func (o Owner) AnswerError(stored *unstructured.Unstructured) error {
	if o.Set == "" || applyset.Owner(stored) == o.Set {
		return nil
	}
	return fmt.Errorf("the API server stored it without the label %s: %s, so neither prune nor delete would find it: an admission webhook or policy removes the label; make it keep the label, then run this again", applyset.PartOfLabel, o.Set)
}

// RecordError returns an error for an object, live or in a manifest, that an apply set keeps
// for itself and that therefore cannot be a member of one.
func (o Owner) RecordError(obj *unstructured.Unstructured) error {
	if what := applyset.Record(obj); o.Set != "" && what != "" {
		return event.WithCode(event.CodeConflict, fmt.Errorf("it is %s and cannot be a member of one: give your resource another name, or remove it from the stream", what))
	}
	return nil
}

// MemberError reports a member of an apply set in a run without one. Every field of the object
// would be in conflict.
type MemberError struct{ Set applyset.Parent }

// Error names the set, and the flags that the run lacks.
func (e *MemberError) Error() string {
	return fmt.Sprintf("it is a member of apply set %s, and this run names no set: add %s", e.Set.ID, flagsOf(e.Set))
}

// Several is the error of a number of members of one set.
func (e *MemberError) Several(members int) string {
	return fmt.Sprintf("%s belong to apply set %s: add %s", plain.Count(members, "resource"), strings.TrimPrefix(e.Set.ID.String(), "Secret "), flagsOf(e.Set))
}

// flagsOf returns the flags of a command that name a set.
func flagsOf(set applyset.Parent) string {
	flags := "--applyset " + plain.ShellQuote(set.Argument())
	if set.ID.Namespace != "" {
		flags += " -n " + set.ID.Namespace
	}
	return flags
}

// otherSetError returns the error for a member of another set.
func otherSetError(set FoundSet) error {
	meant := ""
	if flags := set.Flags(); flags != "" {
		meant = "name that set if it is the one you mean (" + flags + "); else "
	}
	return event.WithCode(event.CodeConflict, fmt.Errorf("it is a member of another apply set (%s): %sremove it from that set first, or take it over with --take-over; a definition that several sets need belongs in a set of its own", set, meant))
}

// MembershipError returns an error when a live object may not become a member, or is one that
// only a run of its set may write; nil when it may. named finds the set that owns the object.
func (o Owner) MembershipError(live *unstructured.Unstructured, named SetFinder) error {
	if err := o.RecordError(live); err != nil {
		return err
	}
	owner := applyset.Owner(live)
	switch {
	case o.Set == "" && o.isKept(live, owner):
		if set := named(owner, live.GetNamespace()); set.found() {
			return event.WithCode(event.CodeConflict, &MemberError{set.Parent})
		}
		return nil
	case o.Set == "" || owner == o.Set:
		return nil
	case owner != "" && o.Adopt != applyset.AdoptAny:
		return otherSetError(named(owner, live.GetNamespace()))
	case owner == "" && o.Adopt == applyset.AdoptNever:
		return event.WithCode(event.CodeConflict, fmt.Errorf("it exists and belongs to no apply set, and --adopt=never does not adopt it: use --adopt=unowned, or give your resource another name"))
	}
	return nil
}

// isKept reports whether a run of a set applied the object, and this run does not force the
// fields of that set's field manager.
func (o Owner) isKept(live *unstructured.Unstructured, set string) bool {
	return slices.ContainsFunc(applyset.MembershipManagers(live), func(manager string) bool {
		return applyset.IsManager(manager, set) && manager != o.Manager && !o.Force.From(manager)
	})
}

// MustKnowOwner reports whether an object must be read before it is written,
// because it may not be allowed to become a member.
func (o Owner) MustKnowOwner() bool { return o.Set != "" && o.Adopt != applyset.AdoptAny }

// UnreadMembershipError returns an error when an object that could not be read may
// not be written; nil when it may. The API server's conflict detection
// protects members of other sets, but not objects of no set.
func (o Owner) UnreadMembershipError(err error) error {
	if err == nil || o.Set == "" || o.Adopt != applyset.AdoptNever {
		return nil
	}
	return fmt.Errorf("it cannot be read, so it may exist already, and --adopt=never adopts no existing object: %w; "+
		"grant get or list on it to the account in your kubeconfig, or use --adopt=unowned", err)
}

// Reader finds the parents of apply sets; kube.Cluster is one.
type Reader interface {
	Kind(schema.GroupVersionKind) (kube.Kind, bool)
	List(ctx context.Context, kind kube.Kind, namespace string, query kube.Query) ([]*unstructured.Unstructured, error)
}

// FoundSet is an apply set, with its parent if that was found.
type FoundSet struct {
	applyset.Parent
	set string // its ID
}

// String returns the parent, or the ID of the set if that was not found.
func (f FoundSet) String() string {
	if f.found() {
		return f.ID.String()
	}
	return f.set
}

// Flags returns the flags of a command that name the set; "" if it was not found.
func (f FoundSet) Flags() string {
	if !f.found() {
		return ""
	}
	return flagsOf(f.Parent)
}

func (f FoundSet) found() bool { return f.ID.Name != "" }

// SetFinder returns the set with an ID that has a member in a namespace.
type SetFinder func(set, namespace string) FoundSet

// NewSetFinder returns a SetFinder that searches for each set once.
func NewSetFinder(ctx context.Context, cluster Reader) SetFinder {
	var mu sync.Mutex
	sets := map[string]FoundSet{}
	return func(set, namespace string) FoundSet {
		mu.Lock()
		defer mu.Unlock()
		if _, known := sets[set]; !known {
			sets[set] = findSet(ctx, cluster, set, namespace)
		}
		return sets[set]
	}
}

// findSet searches for the parent of a set among the kinds that ordapply and
// kubectl use, first in the namespace of one of the members, then in all. It
// skips unreadable ones, and objects to which the label of another parent was copied.
func findSet(ctx context.Context, cluster Reader, set, namespace string) FoundSet {
	query := kube.Query{Labels: applyset.IDLabel + "=" + set, Metadata: true}
	for _, place := range []string{namespace, ""} {
		for _, gvk := range []schema.GroupVersionKind{
			{Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "ConfigMap"},
			{Group: "ordapply.dev", Version: "v1", Kind: "ApplySet"},
		} {
			kind, served := cluster.Kind(gvk)
			if !served {
				continue
			}
			found, _ := cluster.List(ctx, kind, place, query)
			for _, live := range found {
				live.SetGroupVersionKind(gvk)
				if parent := (applyset.Parent{ID: kube.Meta(live).ID}); parent.SetID() == set {
					return FoundSet{parent, set}
				}
			}
		}
	}
	return FoundSet{set: set}
}
