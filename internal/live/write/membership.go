package write

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
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

// MembershipError returns an error when a live object may not become a member; nil
// when it may. named describes the set that owns the object.
func (o Owner) MembershipError(live *unstructured.Unstructured, named func(set, namespace string) string) error {
	if err := o.RecordError(live); err != nil {
		return err
	}
	owner := applyset.Owner(live)
	switch {
	case o.Set == "" || owner == o.Set:
		return nil
	case owner != "" && o.Adopt != applyset.AdoptAny:
		return event.WithCode(event.CodeConflict, fmt.Errorf("it is a member of another apply set (%s): remove it from that set first, or take it over with --take-over", named(owner, live.GetNamespace())))
	case owner == "" && o.Adopt == applyset.AdoptNever:
		return event.WithCode(event.CodeConflict, fmt.Errorf("it exists and belongs to no apply set, and --adopt=never does not adopt it: use --adopt=unowned, or give your resource another name"))
	}
	return nil
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

// NameSets returns a function that names an apply set by its parent object,
// or by its id if the parent is not found. It searches for each set once.
func NameSets(ctx context.Context, cluster Reader) func(set, namespace string) string {
	var mu sync.Mutex
	names := map[string]string{}
	return func(set, namespace string) string {
		mu.Lock()
		defer mu.Unlock()
		if names[set] == "" {
			names[set] = nameSet(ctx, cluster, set, namespace)
		}
		return names[set]
	}
}

// nameSet searches for the parent of a set among the kinds that ordapply and
// kubectl use, first in the namespace of one of the members, then in all. It
// skips unreadable ones.
func nameSet(ctx context.Context, cluster Reader, set, namespace string) string {
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
			if found, err := cluster.List(ctx, kind, place, query); err == nil && len(found) > 0 {
				found[0].SetGroupVersionKind(gvk)
				return kube.Meta(found[0]).ID.String()
			}
		}
	}
	return set
}
