package standin

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
)

// operators are the controllers of a stream; each acts once its Pods are ready.
type operators struct {
	client   dynamic.Interface
	metadata metadata.Interface
	bundle   []byte
	asked    map[string]bool // CRDs whose conversion webhook is set up
}

// list returns all objects of a kind; none if it is not served.
func (o *operators) list(ctx context.Context, resource schema.GroupVersionResource) ([]unstructured.Unstructured, error) {
	found, err := o.client.Resource(resource).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return found.Items, nil
}

// create creates an object that may exist already.
func (o *operators) create(ctx context.Context, resource schema.GroupVersionResource, object map[string]any) error {
	_, err := o.client.Resource(resource).Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// runs reports whether a Deployment has a ready Pod.
func (o *operators) runs(ctx context.Context, namespace, name string) bool {
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	live, err := o.client.Resource(deployments).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false
	}
	ready, _, _ := unstructured.NestedInt64(live.Object, "status", "readyReplicas")
	return ready > 0
}

// serves reports whether a Service has a ready endpoint.
func (o *operators) serves(ctx context.Context, namespace, name string) bool {
	slices := schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}
	found, err := o.client.Resource(slices).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + name})
	if err != nil {
		return false
	}
	for _, slice := range found.Items {
		endpoints, _, _ := unstructured.NestedSlice(slice.Object, "endpoints")
		for _, e := range endpoints {
			endpoint, _ := e.(map[string]any)
			if ready, _, _ := unstructured.NestedBool(endpoint, "conditions", "ready"); ready {
				return true
			}
		}
	}
	return false
}

// names lists objects of a kind by metadata only, since CRDs are large.
func (o *operators) names(ctx context.Context, resource schema.GroupVersionResource) ([]string, error) {
	found, err := o.metadata.Resource(resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, item := range found.Items {
		names = append(names, item.Name)
	}
	return names, nil
}

// crds is the resource of CustomResourceDefinitions.
func crds() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}
