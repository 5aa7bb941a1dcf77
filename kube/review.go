package kube

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Allowed implements Cluster with a SelfSubjectAccessReview.
func (k *Kubernetes) Allowed(ctx context.Context, p Permission) (bool, error) {
	if p.Namespace == "" && p.Resource.GroupResource() == (schema.GroupResource{Resource: "namespaces"}) {
		p.Namespace = p.Name // as the API server authorizes requests on a Namespace
	}
	reviews := schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"}
	answer, err := k.review(ctx, reviews, "SelfSubjectAccessReview", map[string]any{"spec": map[string]any{"resourceAttributes": map[string]any{
		"verb": p.Verb, "group": p.Resource.Group, "version": p.Resource.Version, "resource": p.Resource.Resource,
		"subresource": p.Subresource, "namespace": p.Namespace, "name": p.Name,
	}}})
	if err != nil {
		return false, err
	}
	allowed, _, err := unstructured.NestedBool(answer.Object, "status", "allowed")
	return allowed, err
}

// User implements access.Reviewer with a SelfSubjectReview, which API servers
// before Kubernetes 1.28 do not serve.
func (k *Kubernetes) User(ctx context.Context) string {
	reviews := schema.GroupVersionResource{Group: "authentication.k8s.io", Version: "v1", Resource: "selfsubjectreviews"}
	answer, err := k.review(ctx, reviews, "SelfSubjectReview", map[string]any{})
	if err != nil {
		return ""
	}
	name, _, _ := unstructured.NestedString(answer.Object, "status", "userInfo", "username")
	return name
}

// review creates a review of the user. Nothing is stored.
func (k *Kubernetes) review(ctx context.Context, reviews schema.GroupVersionResource, kind string, question map[string]any) (*unstructured.Unstructured, error) {
	question["apiVersion"], question["kind"] = reviews.GroupVersion().String(), kind
	return k.objects.Resource(reviews).Create(ctx, &unstructured.Unstructured{Object: question}, metav1.CreateOptions{})
}
