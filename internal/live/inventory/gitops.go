package inventory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

const (
	fluxGroup     = "kustomize.toolkit.fluxcd.io"
	fluxHelmGroup = "helm.toolkit.fluxcd.io"
)

// refOfFlux returns the Kustomization of an object.
func refOfFlux(live *unstructured.Unstructured) (namespace, name string) {
	return live.GetLabels()[fluxGroup+"/namespace"], live.GetLabels()[fluxGroup+"/name"]
}

// readFlux reads the inventory in the status of a Kustomization.
// https://fluxcd.io/flux/components/kustomize/kustomizations/#inventory
func readFlux(ctx context.Context, cluster kube.Reads, ref Ref) (*Inventory, error) {
	live, err := get(ctx, cluster, object.ID{Group: fluxGroup, Kind: "Kustomization", Namespace: ref.Namespace, Name: ref.Name})
	if err != nil || live == nil {
		return elsewhere(ref, "Flux Kustomization"), err
	}
	found := ofFlux(ref, live, "kustomization."+fluxGroup)
	entries, _, _ := unstructured.NestedSlice(live.Object, "status", "inventory", "entries")
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		key, _ := fields["id"].(string)
		if id, ok := idOfKey(key); ok {
			found.Objects = append(found.Objects, id)
		}
	}
	return found, nil
}

// refOfFluxHelm returns the HelmRelease of an object.
func refOfFluxHelm(live *unstructured.Unstructured) (namespace, name string) {
	return live.GetLabels()[fluxHelmGroup+"/namespace"], live.GetLabels()[fluxHelmGroup+"/name"]
}

// readFluxHelm reads the Helm release that a HelmRelease made last.
// https://fluxcd.io/flux/components/helm/helmreleases/#history
func readFluxHelm(ctx context.Context, cluster kube.Reads, ref Ref) (*Inventory, error) {
	live, err := get(ctx, cluster, object.ID{Group: fluxHelmGroup, Kind: "HelmRelease", Namespace: ref.Namespace, Name: ref.Name})
	if err != nil || live == nil {
		return elsewhere(ref, "Flux HelmRelease"), err
	}
	found := ofFlux(ref, live, "helmrelease."+fluxHelmGroup)
	past, _, _ := unstructured.NestedSlice(live.Object, "status", "history")
	if len(past) == 0 {
		return found, nil
	}
	last, _ := past[0].(map[string]any)
	name, _ := last["name"].(string)
	namespace, _, _ := unstructured.NestedString(live.Object, "status", "storageNamespace")
	made := Ref{Helm, cmp.Or(namespace, ref.Namespace), name}
	if !made.isValid() {
		return found, nil
	}
	release, err := readHelm(ctx, cluster, made)
	if err == nil && release != nil {
		found.Objects, found.Hooks = release.Objects, release.Hooks
	}
	return found, err
}

// ofFlux returns the record of a live Kustomization or HelmRelease, without its objects.
func ofFlux(ref Ref, live *unstructured.Unstructured, resource string) *Inventory {
	found := &Inventory{Ref: ref, Title: "Flux " + live.GetKind() + " " + ref.Namespace + "/" + ref.Name, Forget: Remedy{
		Why: "delete it while it is suspended, or Flux applies these objects again",
		Do:  "run kubectl delete " + resource + " " + live.GetName() + " -n " + live.GetNamespace(),
	}}
	if suspended, _, _ := unstructured.NestedBool(live.Object, "spec", "suspend"); !suspended {
		found.Stop = Remedy{
			Why: "it is not suspended, so that Flux would apply or delete these objects again",
			Do:  "run kubectl patch " + resource + " " + live.GetName() + " -n " + live.GetNamespace() + ` --type=merge -p '{"spec":{"suspend":true}}'`,
		}
	}
	return found
}

// elsewhere returns a record that the cluster does not have.
func elsewhere(ref Ref, kind string) *Inventory {
	return &Inventory{Ref: ref, Title: kind + " " + strings.TrimPrefix(ref.Namespace+"/"+ref.Name, "/"), Elsewhere: true}
}

// refOfArgoCD returns the Application of an object: by the annotation with which Argo CD 3
// tracks by default, application:group/kind:namespace/name, where a copy on another object names
// that object; or by the label that was the default before, if Argo CD applied the object, since
// charts set the same label.
// https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking/
func refOfArgoCD(live *unstructured.Unstructured) (namespace, name string) {
	application, of, annotated := strings.Cut(live.GetAnnotations()["argocd.argoproj.io/tracking-id"], ":")
	switch {
	case annotated && !tracks(of, kube.Meta(live).ID):
		return "", ""
	case !annotated && slices.ContainsFunc(live.GetManagedFields(), isArgoCD):
		application = live.GetLabels()["app.kubernetes.io/instance"]
	case !annotated:
		return "", ""
	}
	if namespace, name, ok := strings.Cut(application, "_"); ok { // not in Argo CD's own namespace
		return namespace, name
	}
	return "", application
}

func isArgoCD(entry metav1.ManagedFieldsEntry) bool {
	return entry.Subresource == "" && (entry.Manager == "argocd-controller" || entry.Manager == "argocd-application-controller")
}

// readArgoCD reads the resources in the status of an Application.
func readArgoCD(ctx context.Context, cluster kube.Reads, ref Ref) (*Inventory, error) {
	applications, err := list(ctx, cluster, schema.GroupKind{Group: "argoproj.io", Kind: "Application"}, ref.Namespace, kube.Query{Fields: "metadata.name=" + ref.Name})
	if err != nil {
		return nil, err
	}
	live, err := only(applications)
	if err != nil || live == nil {
		return elsewhere(ref, "Argo CD Application"), err
	}
	patch := "kubectl patch application.argoproj.io " + live.GetName() + " -n " + live.GetNamespace() + " --type=merge -p "
	orphan := patch + `'{"metadata":{"finalizers":null}}'`
	found := &Inventory{Ref: ref, Title: "Argo CD Application " + live.GetNamespace() + "/" + live.GetName(), Forget: Remedy{
		Why: "delete it without its finalizer, or a sync applies these objects again",
		Do:  "run " + orphan + ` && kubectl delete application.argoproj.io ` + live.GetName() + " -n " + live.GetNamespace(),
	}}
	automated, is, _ := unstructured.NestedMap(live.Object, "spec", "syncPolicy", "automated")
	if enabled, said := automated["enabled"].(bool); is && (enabled || !said) {
		found.Stop = Remedy{
			Why: "it is synced automatically, so that Argo CD would apply or delete these objects again",
			Do:  "run " + patch + `'{"spec":{"syncPolicy":{"automated":null}}}'`,
		}
	}
	if live.GetDeletionTimestamp() != nil {
		found.Stop = Remedy{"it is being deleted, and these objects with it", "run " + orphan}
	}
	resources, _, _ := unstructured.NestedSlice(live.Object, "status", "resources")
	for _, resource := range resources {
		found.Objects = append(found.Objects, idOfFields(resource))
	}
	return found, nil
}

// tracks reports whether Argo CD's name of an object is an ID's. That of an object without a
// namespace has the namespace of the Application.
func tracks(name string, id object.ID) bool {
	kind := id.Group + "/" + id.Kind + ":"
	if id.Namespace == "" {
		return strings.HasPrefix(name, kind) && strings.HasSuffix(name, "/"+id.Name)
	}
	return name == kind+id.Namespace+"/"+id.Name
}
