package access

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// RemovalPermissions returns the permissions that deleting these live objects
// with a Remover requires.
func RemovalPermissions(objects map[object.ID]*unstructured.Unstructured, kinds kube.Kinds) kube.Permissions {
	d := &permissionBuilder{kinds: kinds}
	for id, obj := range objects {
		kind, known := kinds(obj.GroupVersionKind())
		if !known {
			d.out.Unknown = append(d.out.Unknown, schema.GroupKind{Group: id.Group, Kind: id.Kind})
			continue
		}
		d.addRequired("delete", kind.Resource, id.Namespace, id.Name)
		d.addRequired("get", kind.Resource, id.Namespace, id.Name)
		d.addOptional("list", kind.Resource, id.Namespace, "")
		d.addOptional("watch", kind.Resource, id.Namespace, "")
		d.addInstances(obj)
		d.out.Add(UnservedPermissions(schema.GroupKind{Group: id.Group, Kind: id.Kind}))
	}
	d.out.Sort()
	return d.out
}

// UnservedPermissions returns the permissions that proving the absence of a
// kind requires, in case it is not served; see kube.ReadServed. None are required
// for built-in kinds, which are always served.
func UnservedPermissions(gk schema.GroupKind) kube.Permissions {
	if object.IsNative(gk.Group) {
		return kube.Permissions{}
	}
	crds, services := kube.DefinitionKind("customresourcedefinitions").Resource, kube.DefinitionKind("apiservices").Resource
	return kube.Permissions{Optional: []kube.Permission{
		{Verb: "get", Resource: crds}, {Verb: "list", Resource: crds}, {Verb: "list", Resource: services},
	}}
}

// addInstances adds the permissions to list the custom resources of a
// definition, which is kept when that fails.
func (d *permissionBuilder) addInstances(obj *unstructured.Unstructured) {
	for _, gvk := range kube.DefinedKinds(obj) {
		if kind, known := d.kinds(gvk); known {
			d.addOptional("list", kind.Resource, "", "")
		}
	}
}
