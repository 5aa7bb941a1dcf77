package status

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/set"
)

// owned are the objects of controllers, by the uid of their controller, in the order of names.
type owned map[types.UID][]*unstructured.Unstructured

// ownedKinds returns the kinds of the objects that an object owns, directly or through another
// one. Those of a custom resource are unknown: it may own any workload.
func ownedKinds(of schema.GroupKind) []schema.GroupKind {
	pods, sets, jobs := schema.GroupKind{Kind: "Pod"}, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, schema.GroupKind{Group: "batch", Kind: "Job"}
	switch of.String() {
	case "Deployment.apps":
		return []schema.GroupKind{sets, pods}
	case "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "ReplicationController", "Job.batch":
		return []schema.GroupKind{pods}
	case "CronJob.batch":
		return []schema.GroupKind{jobs, pods}
	}
	if object.IsNative(of.Group) {
		return nil
	}
	return []schema.GroupKind{{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "StatefulSet"}, {Group: "apps", Kind: "DaemonSet"}, sets, jobs, pods}
}

// TreePermissions returns the permissions for showing what the members of a set own, in
// PrintTree: a list of each kind that they may own, in every namespace of the set. All are
// optional: a note replaces the objects that may not be listed.
func TreePermissions(promise applyset.Parent, kinds kube.Kinds) kube.Permissions {
	namespaces := (&set.Set{Parent: promise}).Namespaces()
	var p kube.Permissions
	for _, gk := range promise.Kinds {
		if member, known := kinds(gk.WithVersion("")); known && !member.Namespaced {
			continue
		}
		for _, of := range ownedKinds(gk) {
			kind, _ := kinds(of.WithVersion("")) // Kubernetes' own
			for _, namespace := range namespaces {
				p.Optional = append(p.Optional, kube.Permission{Verb: "list", Resource: kind.Resource, Namespace: namespace})
			}
		}
	}
	p.Sort()
	return p
}

// readOwned lists the objects that members may own: each kind once for each namespace of a member
// that may own it, and only the metadata, except of Pods. A note names each kind that may not be
// listed.
func (o *Observer) readOwned(ctx context.Context, members map[object.ID]*unstructured.Unstructured) (owned, []string, error) {
	type place struct {
		schema.GroupKind
		namespace string
	}
	places := map[place]bool{}
	for id := range members {
		if id.Namespace == "" {
			continue
		}
		for _, kind := range ownedKinds(schema.GroupKind{Group: id.Group, Kind: id.Kind}) {
			places[place{kind, id.Namespace}] = true
		}
	}
	out, notes := owned{}, []string(nil)
	for _, at := range slices.SortedFunc(maps.Keys(places), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.String(), b.String()))
	}) {
		kind, served := kube.KindsOf(o.Cluster)(at.WithVersion(""))
		if !served {
			continue
		}
		found, err := o.Cluster.List(ctx, kind, at.namespace, kube.Query{Metadata: at.Kind != "Pod"})
		if err != nil && ctx.Err() != nil {
			return nil, nil, err
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s in namespace %s cannot be listed: %v", kind.Resource.Resource, at.namespace, fault.WithoutURL(err)))
		}
		for _, one := range found {
			one.SetGroupVersionKind(at.WithVersion(kind.Resource.Version))
			out.add(one)
		}
	}
	return out, notes, nil
}

func (o owned) add(one *unstructured.Unstructured) {
	if by := metav1.GetControllerOf(one); by != nil {
		o[by.UID] = append(o[by.UID], one)
	}
}
