package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/object"
)

// EndpointSliceKind returns the kind that holds a Service's endpoints.
func EndpointSliceKind() Kind {
	return Kind{Resource: schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}, Namespaced: true}
}

// HasReadyEndpoint reports whether an EndpointSlice has a ready endpoint. An
// unset ready condition means ready.
func HasReadyEndpoint(slice *unstructured.Unstructured) bool {
	endpoints, _, _ := unstructured.NestedSlice(slice.Object, "endpoints")
	for _, e := range endpoints {
		endpoint, _ := e.(map[string]any)
		ready, known, _ := unstructured.NestedBool(endpoint, "conditions", "ready")
		if ready || !known && endpoint != nil {
			return true
		}
	}
	return false
}

// EndpointsOf selects the EndpointSlices of a Service.
func EndpointsOf(service string) Query {
	return Query{Labels: "kubernetes.io/service-name=" + service}
}

// HasEndpoints implements Cluster.
func (k *Kubernetes) HasEndpoints(ctx context.Context, service object.ID) (bool, error) {
	slices, err := k.List(ctx, EndpointSliceKind(), service.Namespace, EndpointsOf(service.Name))
	if err != nil {
		return false, err
	}
	for _, slice := range slices {
		if HasReadyEndpoint(slice) {
			return true, nil
		}
	}
	return false, nil
}
