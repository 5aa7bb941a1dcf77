package kube

import "k8s.io/apimachinery/pkg/runtime/schema"

// CoreKind returns a namespaced kind of the core group.
func CoreKind(resource string) Kind {
	return Kind{Resource: schema.GroupVersionResource{Version: "v1", Resource: resource}, Namespaced: true}
}

// NamespaceKind returns how every API server serves Namespaces.
func NamespaceKind() Kind {
	return Kind{Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Stored: true}
}
