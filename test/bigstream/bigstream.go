// Package bigstream generates manifest streams of any size for benchmarks.
//
//	objects := bigstream.Applications(10_000)
package bigstream

import (
	"fmt"
	"maps"
)

// Applications returns n manifests with about 2n edges that their annotations
// and fields express: in up to a hundred Namespaces, applications of a
// Deployment with its ConfigMap, Secret and ServiceAccount, and a custom
// resource that depends on two of these by cli-utils' annotation. Deployments
// and custom resources are in ten layers of a SortOrder.
func Applications(n int) []map[string]any {
	out := []map[string]any{manifest("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets.example.com", map[string]any{
		"spec": map[string]any{"group": "example.com", "names": map[string]any{"kind": "Widget", "plural": "widgets"}, "scope": "Namespaced"},
	})}
	namespaces := min(100, n/20)
	for i := range namespaces {
		out = append(out, manifest("v1", "Namespace", "", namespace(i), nil))
	}
	for i := 0; len(out) < n; i++ {
		out = append(out, application(namespace(i%namespaces), fmt.Sprint("app", i), i%10)...)
	}
	return out[:n]
}

func namespace(i int) string { return fmt.Sprint("n", i) }

func application(namespace, name string, layer int) []map[string]any {
	deployment := map[string]any{"spec": map[string]any{"template": map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": name}},
		"spec": map[string]any{
			"serviceAccountName": name,
			"containers":         []any{map[string]any{"name": "main", "envFrom": []any{map[string]any{"configMapRef": map[string]any{"name": name}}}}},
			"volumes":            []any{map[string]any{"name": "s", "secret": map[string]any{"secretName": name}}},
		},
	}}}
	needs := fmt.Sprintf("apps/namespaces/%s/Deployment/%s,/namespaces/%s/Secret/%s", namespace, name, namespace, name)
	return []map[string]any{
		manifest("v1", "ConfigMap", namespace, name, nil),
		manifest("v1", "Secret", namespace, name, nil),
		manifest("v1", "ServiceAccount", namespace, name, nil),
		annotated(manifest("apps/v1", "Deployment", namespace, name, deployment), stamp(layer)),
		annotated(manifest("example.com/v1", "Widget", namespace, name, nil), stamp(layer), map[string]any{"config.kubernetes.io/depends-on": needs}),
	}
}

// stamp returns the annotations that a SortOrder writes for a layer.
func stamp(layer int) map[string]any {
	return map[string]any{"ordapply.dev/layer": fmt.Sprint("app/l", layer), "ordapply.dev/wave": fmt.Sprint(layer)}
}

func manifest(apiVersion, kind, namespace, name string, fields map[string]any) map[string]any {
	meta := map[string]any{"name": name}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	obj := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": meta}
	maps.Copy(obj, fields)
	return obj
}

// annotated returns the object with annotations added.
func annotated(obj map[string]any, annotations ...map[string]any) map[string]any {
	all := map[string]any{}
	for _, more := range annotations {
		maps.Copy(all, more)
	}
	obj["metadata"].(map[string]any)["annotations"] = all
	return obj
}
