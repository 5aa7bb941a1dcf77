package references

import (
	"strconv"
	"strings"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

const storageGroup = "storage.k8s.io"

// IsClaim reports whether an ID names a PersistentVolumeClaim.
func IsClaim(id object.ID) bool { return id.Group == "" && id.Kind == "PersistentVolumeClaim" }

// claim adds edges from the StorageClass and the PersistentVolumes of claims,
// without which no volume is provisioned or bound.
func (refs *references) claim(r ordering.Resource) {
	switch {
	case IsClaim(r.ID):
		refs.storageClass(r.Object, graph.Required, "")
		refs.boundVolume(r.Object, refs.volumes[r.ID], graph.Required, "")
		refs.pooledVolumes(r.Object, refs.volumes[r.ID], "")
	case r.Group == "apps" && r.Kind == "StatefulSet":
		for _, template := range List(r.Object, "spec", "volumeClaimTemplates") {
			where := "volumeClaimTemplate " + String(template, "metadata", "name")
			refs.storageClass(template, podStrength(r), where)
			kept := refs.volumeSets[claimID(r.Namespace, String(template, "metadata", "name")+"-"+r.Name)]
			refs.boundVolume(template, kept, podStrength(r), where+" ")
			refs.pooledVolumes(template, kept, where+" ")
		}
	}
}

// storageClass adds the edge from the StorageClass of a claim or claim
// template. Without a class name it uses the stream's default classes, although
// the cluster may have another default.
func (refs *references) storageClass(claim any, s graph.Strength, where string) {
	if where != "" {
		where += " "
	}
	name, named := Field(claim, "spec", "storageClassName").(string)
	if old := String(Field(claim, "metadata", "annotations"), "volume.beta.kubernetes.io/storage-class"); !named && old != "" {
		name, named = old, true
	}
	switch {
	case name != "":
		refs.need(object.ID{Group: storageGroup, Kind: "StorageClass", Name: name}, s, "storage-class", where+"storageClassName names")
	case !named:
		for _, class := range refs.defaultClasses {
			refs.edge(class, ordering.Applied, graph.Helps, "storage-class", where+"names no class, and the default is")
		}
	}
}

// addVolume indexes a PersistentVolume by its claimRef, or by its class.
func (ix *Index) addVolume(i int, r ordering.Resource) {
	if r.Group != "" || r.Kind != "PersistentVolume" {
		return
	}
	claim := claimID(String(r.Object, "spec", "claimRef", "namespace"), String(r.Object, "spec", "claimRef", "name"))
	if claim.Name == "" {
		class := String(r.Object, "spec", "storageClassName")
		ix.pools[class] = append(ix.pools[class], i)
		return
	}
	ix.volumes[claim] = append(ix.volumes[claim], i)
	if at := strings.LastIndex(claim.Name, "-"); at > 0 && isNumber(claim.Name[at+1:]) {
		claim.Name = claim.Name[:at]
		ix.volumeSets[claim] = append(ix.volumeSets[claim], i)
	}
}

func claimID(namespace, name string) object.ID {
	return object.ID{Kind: "PersistentVolumeClaim", Namespace: namespace, Name: name}
}

func isNumber(text string) bool {
	_, err := strconv.ParseUint(text, 10, 31)
	return err == nil
}

// boundVolume adds edges from the PersistentVolume that a claim names, or from
// all whose claimRef names the claim.
func (refs *references) boundVolume(claim any, kept []int, s graph.Strength, where string) {
	if name := String(claim, "spec", "volumeName"); name != "" {
		refs.need(object.ID{Kind: "PersistentVolume", Name: name}, s, "volume", where+"is bound to")
		return
	}
	for _, volume := range kept {
		refs.edge(volume, ordering.Applied, s, "volume", where+"is bound to")
	}
}

// maxPooledVolumes limits the volumes of a class that a claim waits for; thousands
// of each would make millions of edges.
const maxPooledVolumes = 100

// pooledVolumes adds edges from the volumes of a class to a claim that may bind
// any of them.
func (refs *references) pooledVolumes(claim any, kept []int, where string) {
	class, named := Field(claim, "spec", "storageClassName").(string)
	if !named || len(kept) > 0 || String(claim, "spec", "volumeName") != "" {
		return
	}
	pool := refs.pools[class]
	for _, volume := range pool[:min(len(pool), maxPooledVolumes)] {
		refs.edge(volume, ordering.Applied, graph.Helps, "volume", where+"may be bound to")
	}
}

func isDefaultClass(r ordering.Resource) bool {
	return r.Group == storageGroup && r.Kind == "StorageClass" &&
		r.Annotations["storageclass.kubernetes.io/is-default-class"] == "true"
}

// BindsOnUse reports whether a claim may stay unbound until a Pod uses it. It
// is false only if a StorageClass of the stream binds immediately.
func (ix *Index) BindsOnUse(r ordering.Resource) bool {
	class, ok := ix.ByID[object.ID{Group: storageGroup, Kind: "StorageClass", Name: String(r.Object, "spec", "storageClassName")}]
	if !ok {
		return true
	}
	mode := String(ix.Resources[class].Object, "volumeBindingMode")
	return mode != "" && mode != "Immediate"
}
