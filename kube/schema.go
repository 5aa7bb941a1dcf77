package kube

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Schema implements Cluster.
func (k *Kubernetes) Schema(ctx context.Context, gvk schema.GroupVersionKind) (map[string]any, error) {
	raw, err := k.discovery.RESTClient().Get().AbsPath("/openapi/v3/apis", gvk.Group, gvk.Version).Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("read the OpenAPI schema of %s: %w", gvk.GroupVersion(), err)
	}
	var document struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, fmt.Errorf("read the OpenAPI schema of %s: %w", gvk.GroupVersion(), err)
	}
	for _, text := range document.Components.Schemas {
		if found, err := schemaOf(text, gvk); found != nil || err != nil {
			return found, err
		}
	}
	return nil, nil
}

// schemaOf returns a schema if it is that of a kind, and else nil.
func schemaOf(text json.RawMessage, gvk schema.GroupVersionKind) (map[string]any, error) {
	var head struct {
		Kinds []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
	}
	if json.Unmarshal(text, &head) != nil || len(head.Kinds) != 1 || head.Kinds[0] != gvk {
		return nil, nil
	}
	var found map[string]any
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, fmt.Errorf("read the OpenAPI schema of %s: %w", gvk, err)
	}
	return found, nil
}
