package kube

import (
	"k8s.io/client-go/discovery/cached/disk"
	"k8s.io/client-go/openapi"
)

// OpenAPI returns the schemas that the API server publishes. A schema is kept in a folder until
// it changes, as kubectl keeps it in its cache; "" keeps none. It makes no request. The error is
// about the configuration.
func (k *Kubernetes) OpenAPI(folder string) (openapi.Client, error) {
	if folder == "" {
		return k.discovery.OpenAPIV3(), nil
	}
	cached, err := disk.NewCachedDiscoveryClientForConfig(k.connection.config, "", folder, 0)
	if err != nil {
		return nil, err
	}
	return cached.OpenAPIV3(), nil
}
