package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/object"
)

// RemovalPermissions tells what deleting resources asks for.
func RemovalPermissions(objects map[object.ID]*unstructured.Unstructured, kinds Kinds) Permissions {
	d := &demand{kinds: kinds}
	for id, obj := range objects {
		kind, known := kinds(obj.GroupVersionKind())
		if !known {
			d.out.Unknown = append(d.out.Unknown, schema.GroupKind{Group: id.Group, Kind: id.Kind})
			continue
		}
		d.required("delete", kind.Resource, id.Namespace, id.Name)
		d.required("get", kind.Resource, id.Namespace, id.Name)
		d.optional("list", kind.Resource, id.Namespace, "")
		d.optional("watch", kind.Resource, id.Namespace, "")
		d.instances(obj)
		d.out.Add(UnservedPermissions(schema.GroupKind{Group: id.Group, Kind: id.Kind}))
	}
	d.out.tidy()
	return d.out
}

// UnservedPermissions tells what proving that nothing of a kind exists asks for, in
// case it is not served; see ReadServed. Kubernetes' own kinds always are.
func UnservedPermissions(gk schema.GroupKind) Permissions {
	if health.IsNative(gk.Group) {
		return Permissions{}
	}
	crds, services := definitionKind("customresourcedefinitions").Resource, definitionKind("apiservices").Resource
	return Permissions{Optional: []Permission{
		{Verb: "get", Resource: crds}, {Verb: "list", Resource: crds}, {Verb: "list", Resource: services},
	}}
}

// instances are the custom resources that would go with their definition, which
// is kept where nobody can tell whether there are any.
func (d *demand) instances(obj *unstructured.Unstructured) {
	for _, gvk := range definedKinds(obj) {
		if kind, known := d.kinds(gvk); known {
			d.optional("list", kind.Resource, "", "")
		}
	}
}
