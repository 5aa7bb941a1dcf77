package diagnose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Search finds objects that only the deletion of their Namespace or
// definition would delete.
type Search struct {
	Cluster            kube.Reads
	Deleting           map[types.UID]bool // deleted in this run
	DeletedAPIServices map[string]bool    // APIServices that are deleted in this run, by name
	Ignored            func(*unstructured.Unstructured) bool
	listed             map[types.UID]bool
}

// OnlyDeletedWith lists the objects in a Namespace, or of the kind of a
// CustomResourceDefinition, that only its deletion would delete, sorted.
func (c Search) OnlyDeletedWith(ctx context.Context, id object.ID) ([]object.ID, error) {
	var found []*unstructured.Unstructured
	var err error
	if id.IsCRD() {
		found, err = c.OfKind(ctx, id)
	} else {
		found, err = c.InNamespace(ctx, id.Name)
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
		if !c.Ignored(obj) && !c.isDeletedAnyway(ctx, obj, maxOwnerDepth) {
			foreign = append(foreign, kube.Meta(obj).ID)
		}
	}
	slices.SortFunc(foreign, object.Compare)
	return foreign, nil
}

// OfKind lists the custom resources of a CustomResourceDefinition.
func (c Search) OfKind(ctx context.Context, id object.ID) ([]*unstructured.Unstructured, error) {
	crd, err := c.Cluster.Get(ctx, kube.DefinitionKind("customresourcedefinitions"), "", id.Name)
	if kube.IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	crd.SetGroupVersionKind(kube.DefiningKinds()[0])
	var unconverted error
	for _, gvk := range kube.DefinedKinds(crd) {
		_, known := c.Cluster.Kind(gvk)
		if !known { // discovery may be older than the CRD
			if err := c.Cluster.Refresh(ctx, gvk.GroupVersion()); err != nil {
				return nil, err
			}
		}
		kind, served := c.Cluster.Kind(gvk)
		if !served {
			continue
		}
		found, err := c.List(ctx, gvk, kind, "")
		switch {
		case fault.IsConversionFailure(err): // another version may be the one that is stored
			unconverted = cmp.Or(unconverted, err)
		case !fault.IsNotServed(err):
			return found, err
		}
	}
	if unconverted != nil {
		return nil, unconverted
	}
	if !kube.WasServed(crd) {
		return nil, nil
	}
	return nil, errors.New("no version of its kind is served, so its objects cannot be listed: set served: true for one of them")
}

// InNamespace lists the objects in a namespace, except of kinds that Kubernetes itself creates.
func (c Search) InNamespace(ctx context.Context, namespace string) ([]*unstructured.Unstructured, error) {
	if err := (kube.DiscoveryCheck{Cluster: c.Cluster, Ignored: c.DeletedAPIServices, Namespaced: true}).Check(ctx); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var found []*unstructured.Unstructured
	var first error
	kinds := slices.DeleteFunc(slices.Clone(c.Cluster.NamespacedKinds()), func(gvk schema.GroupVersionKind) bool { return isGeneratedKind(gvk.GroupKind()) })
	activity.Each(len(kinds), 8, func(i int) {
		objects, err := c.served(ctx, kinds[i], namespace)
		if isDerivedKind(kinds[i].GroupKind()) {
			objects = slices.DeleteFunc(objects, func(obj *unstructured.Unstructured) bool { return applyset.Protection(obj, "") == "" })
			if apierrors.IsForbidden(err) {
				err = nil
			}
		}
		mu.Lock()
		defer mu.Unlock()
		found = append(found, objects...)
		if err != nil && first == nil {
			first = fmt.Errorf("list %s: %w", kinds[i].GroupKind(), err)
		}
	})
	return found, first
}

// served lists the objects of a kind in a namespace; none when the kind is
// gone. Objects that cannot be converted are an error even if another version can be
// listed, or if they are in another namespace: Kubernetes lists the kind itself, and
// would not finish the deletion of the Namespace.
func (c Search) served(ctx context.Context, listed schema.GroupVersionKind, namespace string) (found []*unstructured.Unstructured, err error) {
	var unconverted error
	err = kube.ReadServed(ctx, c.Cluster, listed.GroupKind(), func(gvk schema.GroupVersionKind, kind kube.Kind) (err error) {
		if !kind.Namespaced { // its definition was recreated with another scope
			return nil
		}
		found, err = c.List(ctx, gvk, kind, namespace)
		if fault.IsConversionFailure(err) {
			unconverted = err
		}
		return err
	}, listed.Version)
	if unconverted == nil && !object.IsNative(listed.Group) {
		unconverted = c.conversionFailure(ctx, listed)
	}
	return found, cmp.Or(unconverted, err)
}

// conversionFailure returns the error with which the objects of a kind cannot be
// converted, in any namespace. Other errors do not count: the account may have no rights
// outside the namespace.
func (c Search) conversionFailure(ctx context.Context, gvk schema.GroupVersionKind) error {
	kind, _ := c.Cluster.Kind(gvk)
	if _, err := c.Cluster.List(ctx, kind, "", kube.Query{Metadata: true, Limit: 1}); fault.IsConversionFailure(err) {
		return err
	}
	return nil
}

// List reads the metadata of a kind's objects.
func (c Search) List(ctx context.Context, gvk schema.GroupVersionKind, kind kube.Kind, namespace string) ([]*unstructured.Unstructured, error) {
	objects, err := c.Cluster.List(ctx, kind, namespace, kube.Query{Metadata: true})
	for _, obj := range objects {
		obj.SetGroupVersionKind(gvk)
	}
	return objects, err
}

// maxOwnerDepth bounds the levels of owners that are followed.
const maxOwnerDepth = 5

// isDeletedAnyway reports whether an object is deleted anyway: in this run, as a
// dependent of such an object, because it is terminating, or because Kubernetes
// generated it. Dependents of another listed object count as deleted: that object
// is reported instead.
func (c Search) isDeletedAnyway(ctx context.Context, obj *unstructured.Unstructured, up int) bool {
	if c.Deleting[obj.GetUID()] || obj.GetDeletionTimestamp() != nil || isGenerated(obj) {
		return true
	}
	owners := obj.GetOwnerReferences()
	if len(owners) == 0 || up == 0 {
		return false
	}
	for _, o := range owners {
		if c.Deleting[o.UID] || c.listed[o.UID] {
			continue
		}
		gvk := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
		kind, ok := c.Cluster.Kind(gvk)
		if !ok {
			kind, ok = kube.KindsOf(c.Cluster)(gvk.GroupKind().WithVersion(""))
		}
		if !ok {
			return false // the owner may exist
		}
		namespace := ""
		if kind.Namespaced {
			namespace = obj.GetNamespace()
		}
		owner, err := c.Cluster.Get(ctx, kind, namespace, o.Name)
		switch {
		case err != nil && !kube.IsGone(err):
			return false
		case err == nil && owner.GetUID() == o.UID && !c.isDeletedAnyway(ctx, owner, up-1):
			return false
		}
	}
	return true
}

// isGeneratedKind reports whether a kind's objects are generated: they describe other
// objects.
func isGeneratedKind(gk schema.GroupKind) bool {
	return slices.Contains([]string{"Event", "Event.events.k8s.io", "Endpoints"}, gk.String())
}

// isDerivedKind reports whether a kind's objects are usually made again by the objects they
// describe: they count only if protected.
func isDerivedKind(gk schema.GroupKind) bool {
	return slices.Contains([]string{"EndpointSlice.discovery.k8s.io", "Lease.coordination.k8s.io"}, gk.String())
}

// isGenerated reports whether an object is one that Kubernetes creates in every
// namespace, or a ServiceAccount's token.
func isGenerated(obj *unstructured.Unstructured) bool {
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
