// Package object holds the two nouns that every other package speaks of: the
// ID that names a Kubernetes resource in a stream, and the Meta that selection
// and ordering look at. It imports the standard library only.
//
//	id := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
//	id.String() // "Deployment shop/web"
package object

import (
	"cmp"
	"slices"
	"strings"
)

// ID names one resource of a stream: what Kubernetes compares when it decides
// whether two manifests mean the same object. The version is not part of it.
type ID struct {
	Group     string // "" for the core group
	Kind      string
	Namespace string // "" for cluster-scoped resources
	Name      string
}

// Meta is what selectors and orders may look at: a resource's ID, its version
// and the author's labels and annotations. The maps belong to the caller and
// are never written.
type Meta struct {
	ID
	Version     string
	Labels      map[string]string
	Annotations map[string]string
}

// APIVersion is the resource's apiVersion field: "group/version", or the
// version alone for the core group.
func (m Meta) APIVersion() string {
	if m.Group == "" {
		return m.Version
	}
	return m.Group + "/" + m.Version
}

// GroupKind is "Kind.group", or "Kind" for the core group.
func (id ID) GroupKind() string {
	if id.Group == "" {
		return id.Kind
	}
	return id.Kind + "." + id.Group
}

// String is the ID as people read it, "Deployment shop/web". The group is
// written only where it is not one of Kubernetes' own, so that a Service of
// serving.knative.dev is not taken for a core Service.
func (id ID) String() string {
	kind := id.Kind
	if !nativeGroup(id.Group) {
		kind = id.GroupKind()
	}
	if id.Namespace == "" {
		return kind + " " + id.Name
	}
	return kind + " " + id.Namespace + "/" + id.Name
}

// nativeGroup tells whether a kind is known by its name alone: of groups without
// a dot (apps, batch) and of those below k8s.io, the Gateway API's among them.
func nativeGroup(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// OfKubernetes tells whether Kubernetes itself serves a group. Others below
// k8s.io, such as the Gateway API's, hold custom resources.
func OfKubernetes(group string) bool {
	return slices.Contains([]string{
		"", "apps", "autoscaling", "batch", "policy",
		"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "certificates.k8s.io", "coordination.k8s.io",
		"discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io",
		"rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io",
	}, group)
}

// Compare orders IDs by group, kind, namespace and name.
func Compare(a, b ID) int {
	return cmp.Or(
		strings.Compare(a.Group, b.Group),
		strings.Compare(a.Kind, b.Kind),
		strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name),
	)
}

// SplitAPIVersion takes an apiVersion field apart: "apps/v1" is "apps" and
// "v1", "v1" is "" and "v1".
func SplitAPIVersion(apiVersion string) (group, version string) {
	if group, version, ok := strings.Cut(apiVersion, "/"); ok {
		return group, version
	}
	return "", apiVersion
}
