package remove

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// The garbage collector deletes an object when none of its owners exists any more. So an
// object that stays keeps an owner that this run would delete, if it has no other.

// maxOwnerDepth bounds the levels of owners that are followed.
const maxOwnerDepth = 5

// keepOwners marks the steps whose objects own one that stays: one of Stays, or a protected
// one. It sends a GET for each owner that is not part of this deletion.
func (r *removal) keepOwners(ctx context.Context) {
	owners := ownerSearch{cluster: r.Cluster, deleted: map[types.UID]int{}, stays: map[types.UID]bool{}}
	staying := append([]*unstructured.Unstructured{}, r.Stays...)
	for i := range r.steps {
		switch live := r.steps[i].live; {
		case live == nil:
		case r.protection(live) != "":
			staying = append(staying, live)
		default:
			owners.deleted[live.GetUID()] = i
		}
	}
	for _, obj := range staying {
		owners.stays[obj.GetUID()] = true
	}
	for len(staying) > 0 {
		obj := staying[0]
		staying = staying[1:]
		for _, i := range owners.of(ctx, obj, maxOwnerDepth) {
			if s := &r.steps[i]; !owners.stays[s.live.GetUID()] {
				s.owns = kube.Meta(obj).ID
				owners.stays[s.live.GetUID()] = true
				staying = append(staying, s.live)
			}
		}
	}
}

// ownerSearch finds the owners of objects among the deleted ones.
type ownerSearch struct {
	cluster kube.Cluster
	deleted map[types.UID]int // steps by the uid of their object
	stays   map[types.UID]bool
}

// of returns the steps whose deletion would have the garbage collector delete an object;
// none if another owner of it stays, or if it is being deleted anyway.
func (o ownerSearch) of(ctx context.Context, obj *unstructured.Unstructured, up int) []int {
	if obj.GetDeletionTimestamp() != nil {
		return nil
	}
	var found []int
	for _, ref := range obj.GetOwnerReferences() {
		i, deleted := o.deleted[ref.UID]
		switch {
		case o.stays[ref.UID]:
			return nil
		case deleted:
			found = append(found, i)
			continue
		case up == 0:
			return nil
		}
		owner := o.get(ctx, ref.APIVersion, ref.Kind, obj.GetNamespace(), ref.Name)
		if owner == nil || owner.GetUID() != ref.UID {
			continue // it does not exist
		}
		above := o.of(ctx, owner, up-1)
		if len(above) == 0 && owner.GetDeletionTimestamp() == nil {
			return nil
		}
		found = append(found, above...)
	}
	return found
}

// get reads an owner; nil if it does not exist or cannot be read.
func (o ownerSearch) get(ctx context.Context, version, kind, namespace, name string) *unstructured.Unstructured {
	gvk := schema.FromAPIVersionAndKind(version, kind)
	served, ok := kube.KindsOf(o.cluster)(gvk)
	if !ok {
		return nil
	}
	if !served.Namespaced {
		namespace = ""
	}
	owner, err := o.cluster.Get(ctx, served, namespace, name)
	if err != nil {
		return nil
	}
	return owner
}

// ownsReason returns why the owner of an object that stays is kept; "" if it owns none.
func ownsReason(owned object.ID) string {
	if owned == (object.ID{}) {
		return ""
	}
	return "it owns " + owned.String() + ", which stays, and which the garbage collector would delete with it"
}
