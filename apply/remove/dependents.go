package remove

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// An object whose dependents must be gone first is deleted in foreground. Only the garbage
// collector can finish that: it learns of a new kind after up to half a minute, and never
// of one whose objects it cannot list. So an object without known dependents is deleted in
// background, which needs no collector. Dependents of a kind that is new are deleted by the run,
// see collect.go.

// dependents are the known owners whose dependents must be gone first.
type dependents struct {
	definitions []object.ID               // the CustomResourceDefinitions that this run deletes
	newKinds    map[schema.GroupKind]bool // that the garbage collector may not know yet
	owners      map[types.UID]bool        // of objects of the deleted definitions
	ofNewKinds  map[types.UID]bool        // owners of objects of new kinds
}

// ownsPods reports whether Kubernetes' own controllers make Pods for a kind of object. They are
// gone before their dependencies are deleted.
func ownsPods(id object.ID) bool { return id.MakesPods() || id.GroupKind() == "CronJob.batch" }

// findOwners finds the owners of custom resources whose CustomResourceDefinition this run
// deletes. Their controller, which is deleted later, may have to remove finalizers of these
// dependents. Kinds that cannot be listed count as without owners.
func (r *removal) findOwners(ctx context.Context) {
	r.dependents = dependents{newKinds: map[schema.GroupKind]bool{}, owners: map[types.UID]bool{}, ofNewKinds: map[types.UID]bool{}}
	if r.DryRun || r.NoWait || !r.deletesCustomResources() {
		return
	}
	var young []bool
	for i := range r.steps {
		if s := &r.steps[i]; s.ID.IsCRD() && s.live != nil {
			r.definitions = append(r.definitions, s.ID)
			young = append(young, isNew(s.live))
		}
	}
	search := r.contents()
	var mu sync.Mutex
	activity.Each(len(r.definitions), r.Workers, func(n int) {
		found, _ := search.OfKind(ctx, r.definitions[n])
		mu.Lock()
		defer mu.Unlock()
		for _, obj := range found {
			if young[n] {
				r.newKinds[obj.GroupVersionKind().GroupKind()] = true
			}
			for _, owner := range blockedBy(obj) {
				r.owners[owner] = true
				r.ofNewKinds[owner] = r.ofNewKinds[owner] || young[n]
			}
		}
	})
}

// blockedBy returns the owners that are gone only after an object, if they are deleted in
// foreground.
func blockedBy(obj *unstructured.Unstructured) []types.UID {
	var owners []types.UID
	for _, ref := range obj.GetOwnerReferences() {
		if ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion {
			owners = append(owners, ref.UID)
		}
	}
	return owners
}

func (r *removal) deletesCustomResources() bool {
	for i := range r.steps {
		if s := &r.steps[i]; s.live != nil && !object.IsNative(s.ID.Group) {
			return true
		}
	}
	return false
}

// collectorCanRead reports whether the garbage collector can read an object: it reads the
// newest version. An object that was read in another one is asked for, because a
// conversion webhook may not answer.
func collectorCanRead(ctx context.Context, cluster kube.Cluster, live *unstructured.Unstructured) bool {
	gvk := live.GroupVersionKind()
	versions := cluster.Versions(gvk.GroupKind())
	if len(versions) == 0 || versions[0] == gvk.Version {
		return true
	}
	kind, _ := cluster.Kind(gvk.GroupKind().WithVersion(versions[0]))
	_, err := cluster.Get(ctx, kind, live.GetNamespace(), live.GetName())
	return !fault.IsConversionFailure(err)
}
