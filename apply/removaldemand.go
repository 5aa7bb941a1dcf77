package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
	}
	d.out.tidy()
	return d.out
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
