package ordering

import "github.com/ordapply/ordapply/object"

const storageGroup = "storage.k8s.io"

func isClaim(id object.ID) bool { return id.Group == "" && id.Kind == "PersistentVolumeClaim" }

// claim: a volume is made when the StorageClass of its claim is there.
func (refs *references) claim(r Resource) {
	switch {
	case isClaim(r.ID):
		refs.storageClass(r.Object, required, "")
	case r.Group == "apps" && r.Kind == "StatefulSet":
		for _, template := range list(r.Object, "spec", "volumeClaimTemplates") {
			refs.storageClass(template, podStrength(r), "volumeClaimTemplate "+str(template, "metadata", "name"))
		}
	}
}

// storageClass is that of a claim or of a template of one. A claim that names
// no class gets the default one, which may be another than the stream's.
func (refs *references) storageClass(claim any, s strength, where string) {
	if where != "" {
		where += " "
	}
	name, named := at(claim, "spec", "storageClassName").(string)
	if old := str(at(claim, "metadata", "annotations"), "volume.beta.kubernetes.io/storage-class"); !named && old != "" {
		name, named = old, true
	}
	switch {
	case name != "":
		refs.need(object.ID{Group: storageGroup, Kind: "StorageClass", Name: name}, s, "storage-class", where+"storageClassName names")
	case !named:
		for _, class := range refs.defaults {
			refs.edge(class, Applied, helps, "storage-class", where+"names no class, and the default is")
		}
	}
}

func isDefaultClass(r Resource) bool {
	return r.Group == storageGroup && r.Kind == "StorageClass" &&
		r.Annotations["storageclass.kubernetes.io/is-default-class"] == "true"
}

// bindsOnUse tells whether a claim may stay unbound until a Pod uses it. Only a
// StorageClass of the stream that says otherwise proves that it does not.
func (ix *index) bindsOnUse(r Resource) bool {
	class, ok := ix.byID[object.ID{Group: storageGroup, Kind: "StorageClass", Name: str(r.Object, "spec", "storageClassName")}]
	if !ok {
		return true
	}
	mode := str(ix.resources[class].Object, "volumeBindingMode")
	return mode != "" && mode != "Immediate"
}
