package inventory

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// refOfKpt returns the id of an object's inventory.
func refOfKpt(live *unstructured.Unstructured) (namespace, name string) {
	return "", live.GetAnnotations()["config.k8s.io/owning-inventory"]
}

// readKpt reads the inventory with an id: a ResourceGroup of kpt, or a ConfigMap of cli-utils.
// https://kpt.dev/book/06-deploying-packages/
func readKpt(ctx context.Context, cluster kube.Reads, ref Ref) (*Inventory, error) {
	var all []*unstructured.Unstructured
	for _, gk := range []schema.GroupKind{{Group: "kpt.dev", Kind: "ResourceGroup"}, {Kind: "ConfigMap"}} {
		if len(cluster.Versions(gk)) == 0 {
			continue
		}
		stored, err := list(ctx, cluster, gk, "", kube.Query{Labels: "cli-utils.sigs.k8s.io/inventory-id=" + ref.Name})
		if err != nil {
			return nil, err
		}
		all = append(all, stored...)
	}
	stored, err := only(all)
	if err != nil || stored == nil {
		return nil, err
	}
	return &Inventory{Ref: ref, Title: "inventory " + stored.GetNamespace() + "/" + stored.GetName(), Objects: inventoried(stored)}, nil
}

// inventoried returns the objects that an inventory lists: resources of a ResourceGroup, keys
// of a ConfigMap.
func inventoried(stored *unstructured.Unstructured) []object.ID {
	var ids []object.ID
	resources, _, _ := unstructured.NestedSlice(stored.Object, "spec", "resources")
	for _, resource := range resources {
		ids = append(ids, idOfFields(resource))
	}
	if stored.GetKind() == "ConfigMap" {
		keys, _, _ := unstructured.NestedMap(stored.Object, "data")
		for key := range keys {
			if id, ok := idOfKey(key); ok {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// idOfFields returns the ID in a map with the fields group, kind, namespace and name.
func idOfFields(resource any) object.ID {
	fields, _ := resource.(map[string]any)
	text := func(name string) string { value, _ := fields[name].(string); return value }
	return object.ID{Group: text("group"), Kind: text("kind"), Namespace: text("namespace"), Name: text("name")}
}

// idOfKey returns the ID in a key of cli-utils and Flux, namespace_name_group_kind. A colon,
// which names of RBAC may have, is two underscores.
func idOfKey(key string) (object.ID, bool) {
	namespace, rest, ok := strings.Cut(key, "_")
	end := strings.LastIndex(rest, "_")
	if !ok || end < 0 {
		return object.ID{}, false
	}
	kind, rest := rest[end+1:], rest[:end]
	if end = strings.LastIndex(rest, "_"); end < 0 {
		return object.ID{}, false
	}
	return object.ID{Group: rest[end+1:], Kind: kind, Namespace: namespace, Name: strings.ReplaceAll(rest[:end], "__", ":")}, true
}
