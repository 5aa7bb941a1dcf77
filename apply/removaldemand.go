package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/object"
)

// RemovalPermissions tells what deleting resources asks for. With others, other
// objects of their kinds and namespaces may go too: those that an apply set held
// before.
func RemovalPermissions(objects map[object.ID]*unstructured.Unstructured, kinds Kinds, others bool) Permissions {
	d := &demand{kinds: kinds}
	for id, obj := range objects {
		kind, known := kinds(obj.GroupVersionKind())
		if !known {
			d.out.Unknown = append(d.out.Unknown, schema.GroupKind{Group: id.Group, Kind: id.Kind})
			continue
		}
		name := id.Name
		if others {
			name = ""
		}
		d.required("delete", kind.Resource, id.Namespace, name)
		d.required("get", kind.Resource, id.Namespace, name)
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
