package kube

import "k8s.io/client-go/openapi"

// OpenAPI returns the schemas that the API server publishes. It makes no request.
func (k *Kubernetes) OpenAPI() openapi.Client { return k.discovery.OpenAPIV3() }
