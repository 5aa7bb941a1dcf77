package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/object"
)

// A Namespace takes with it what is in it, and a CustomResourceDefinition every
// custom resource of its kind, whosoever they are. Before one of them is
// deleted, the run looks for what would go that does not go in this run anyway.

// holdsOthers tells whether a step's object must be looked into first.
func (r *removal) holdsOthers(i int) bool {
	id := r.steps[i].ID
	return isNamespace(id) && !r.PruneNamespaces || isCRD(id)
}

// stays is why a step's object must not be deleted; "" when it may. A Namespace
// stays with what is protected in it, also where what is foreign would go.
func (r *removal) stays(i int) string {
	s := &r.steps[i]
	if why := r.kept(s.live); why != "" || !isNamespace(s.ID) || !r.PruneNamespaces {
		return why
	}
	var inside []object.ID
	for j := range r.steps {
		other := &r.steps[j]
		if other.ID.Namespace == s.ID.Name && other.state == Kept && r.kept(other.live) != "" {
			inside = append(inside, other.ID)
		}
	}
	if len(inside) == 0 {
		return ""
	}
	return "what is kept would go with it: " + names(inside)
}

// inspect looks into a Namespace or CustomResourceDefinition, and deletes it
// when nothing else would go with it.
func (r *removal) inspect(i int) {
	s := &r.steps[i]
	look, id := r.contents(), s.ID
	r.enqueue(func(ctx context.Context) func() {
		found, err := look.of(ctx, id)
		return func() { r.inspected(i, found, err) }
	})
}

func (r *removal) inspected(i int, found []object.ID, err error) {
	s := &r.steps[i]
	switch {
	case s.state.Final():
	case err != nil && patience(err) > 0:
		r.trouble(i, err, func() { r.inspect(i) })
	case err != nil || len(found) > 0:
		r.finish(i, Kept, holding(s.ID, found, err))
	default:
		r.delete(i)
	}
}

// holding is why something stays that holds others, or of which nobody can tell;
// "" when it may go.
func holding(id object.ID, found []object.ID, err error) string {
	switch {
	case err != nil:
		return "what would go with it cannot be read: " + brief(err).Error() + anyway(id)
	case len(found) > 0:
		return "it holds what is no part of this deletion: " + names(found) + anyway(id)
	}
	return ""
}

// anyway is how a person deletes it all the same.
func anyway(id object.ID) string {
	if isNamespace(id) {
		return "; --prune-namespaces deletes it with all that is in it"
	}
	return "; kubectl delete crd " + id.Name + " deletes it and them"
}

// contents looks for objects that do not go with a deletion by themselves.
type contents struct {
	cluster  Cluster
	going    map[types.UID]bool // in this run
	unserved map[string]bool    // APIServices that go in this run, by name
	spare    func(*unstructured.Unstructured) bool
	listed   map[types.UID]bool
}

// contents knows what goes in this run, as it stands now.
func (r *removal) contents() contents {
	c := contents{cluster: r.Cluster, going: map[types.UID]bool{}, unserved: map[string]bool{}, spare: r.Spare}
	for i := range r.steps {
		s := &r.steps[i]
		if s.live == nil || s.state.Final() && s.state != Deleted {
			continue
		}
		c.going[s.live.GetUID()] = true
		if s.ID.GroupKind() == "APIService.apiregistration.k8s.io" {
			c.unserved[s.ID.Name] = true
		}
	}
	return c
}

// of are the objects in a Namespace, or of the kind of a
// CustomResourceDefinition, that only its deletion would take along, sorted.
func (c contents) of(ctx context.Context, id object.ID) ([]object.ID, error) {
	var found []*unstructured.Unstructured
	var err error
	if isCRD(id) {
		found, err = c.ofKind(ctx, id)
	} else {
		found, err = c.in(ctx, id.Name)
	}
	if err != nil {
		return nil, err
	}
	c.listed = map[types.UID]bool{}
	for _, obj := range found {
		c.listed[obj.GetUID()] = true
	}
	var foreign []object.ID
	for _, obj := range found {
		if !c.spare(obj) && !c.goes(ctx, obj, ownersUp) {
			foreign = append(foreign, Meta(obj).ID)
		}
	}
	slices.SortFunc(foreign, object.Compare)
	return foreign, nil
}

// ofKind lists the custom resources of a CustomResourceDefinition.
func (c contents) ofKind(ctx context.Context, id object.ID) ([]*unstructured.Unstructured, error) {
	crd, err := c.cluster.Get(ctx, definitionKind("customresourcedefinitions"), "", id.Name)
	if IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	crd.SetGroupVersionKind(definitions()[0])
	for _, gvk := range definedKinds(crd) {
		_, known := c.cluster.Kind(gvk)
		if !known { // it may be newer than what is known of the cluster
			if err := c.cluster.Refresh(ctx, gvk.GroupVersion()); err != nil {
				return nil, err
			}
		}
		kind, served := c.cluster.Kind(gvk)
		if !served {
			continue
		}
		if found, err := c.list(ctx, gvk, kind, ""); !notServed(err) {
			return found, err
		}
	}
	if !wasServed(crd) {
		return nil, nil
	}
	return nil, errors.New("no version of its kind is served, so nobody can tell what there is of it: let one be served again")
}

// wasServed tells whether the kind of a live CustomResourceDefinition was ever
// served, so that there may be objects of it.
func wasServed(crd *unstructured.Unstructured) bool {
	return conditionOf(crd, "Established")["status"] == "True"
}

// in lists what is in a namespace, of every kind but those that Kubernetes
// itself fills.
func (c contents) in(ctx context.Context, namespace string) ([]*unstructured.Unstructured, error) {
	if err := (completeness{cluster: c.cluster, without: c.unserved, namespaced: true}).check(ctx); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var found []*unstructured.Unstructured
	var first error
	var listing sync.WaitGroup
	turns := make(chan struct{}, 8)
	for _, gvk := range c.cluster.NamespacedKinds() {
		if selfMadeKind(gvk.GroupKind()) {
			continue
		}
		listing.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			objects, err := c.served(ctx, gvk, namespace)
			mu.Lock()
			defer mu.Unlock()
			found = append(found, objects...)
			if err != nil && first == nil {
				first = fmt.Errorf("list %s: %w", gvk.GroupKind(), err)
			}
		})
	}
	listing.Wait()
	return found, first
}

// served lists what a namespace holds of a kind; nothing when the kind is gone by
// now.
func (c contents) served(ctx context.Context, listed schema.GroupVersionKind, namespace string) (found []*unstructured.Unstructured, err error) {
	err = ReadServed(ctx, c.cluster, listed.GroupKind(), func(gvk schema.GroupVersionKind, kind Kind) (err error) {
		found, err = c.list(ctx, gvk, kind, namespace)
		return err
	}, listed.Version)
	return found, err
}

// list reads the metadata of a kind's objects.
func (c contents) list(ctx context.Context, gvk schema.GroupVersionKind, kind Kind, namespace string) ([]*unstructured.Unstructured, error) {
	objects, err := c.cluster.List(ctx, kind, namespace, Query{Metadata: true})
	for _, obj := range objects {
		obj.SetGroupVersionKind(gvk)
	}
	return objects, err
}

// ownersUp is how far owners of owners are followed.
const ownersUp = 5

// goes tells whether an object goes by itself: in this run, or because its
// owners do, or it is going already, or Kubernetes made it. Of what belongs to
// another object that was listed, that one is told.
func (c contents) goes(ctx context.Context, obj *unstructured.Unstructured, up int) bool {
	if c.going[obj.GetUID()] || obj.GetDeletionTimestamp() != nil || selfMade(obj) {
		return true
	}
	owners := obj.GetOwnerReferences()
	if len(owners) == 0 || up == 0 {
		return false
	}
	for _, o := range owners {
		if c.going[o.UID] || c.listed[o.UID] {
			continue
		}
		gvk := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
		kind, ok := c.cluster.Kind(gvk)
		if !ok {
			kind, ok = KindsOf(c.cluster)(gvk.GroupKind().WithVersion(""))
		}
		if !ok {
			return false // the owner may exist
		}
		namespace := ""
		if kind.Namespaced {
			namespace = obj.GetNamespace()
		}
		owner, err := c.cluster.Get(ctx, kind, namespace, o.Name)
		switch {
		case err != nil && !IsGone(err):
			return false
		case err == nil && owner.GetUID() == o.UID && !c.goes(ctx, owner, up-1):
			return false
		}
	}
	return true
}

// selfMadeKind tells of kinds whose objects nobody would miss: they tell about
// others, or are made anew from them.
func selfMadeKind(gk schema.GroupKind) bool {
	return slices.Contains([]string{"Event", "Event.events.k8s.io", "Endpoints", "EndpointSlice.discovery.k8s.io", "Lease.coordination.k8s.io"}, gk.String())
}

// selfMade recognises what Kubernetes puts into every namespace, and the tokens
// of ServiceAccounts.
func selfMade(obj *unstructured.Unstructured) bool {
	switch obj.GroupVersionKind().GroupKind().String() {
	case "ServiceAccount":
		return obj.GetName() == "default"
	case "ConfigMap":
		return obj.GetName() == "kube-root-ca.crt"
	case "Secret":
		account := obj.GetAnnotations()["kubernetes.io/service-account.name"]
		return account != "" && strings.HasPrefix(obj.GetName(), account+"-token-")
	}
	return false
}
