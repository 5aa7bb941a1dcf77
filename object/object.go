// Package object defines the two types that all other packages share: ID
// identifies a Kubernetes resource in a stream, and Meta is the metadata that
// selection and ordering read. It imports only the standard library.
//
//	id := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
//	id.String() // "Deployment shop/web"
package object

import (
	"slices"
	"strings"
)

// ID identifies one resource of a stream: two manifests with the same ID are the same
// object to Kubernetes. The version is not part of it. Its JSON is part of the
// documents that commands print.
type ID struct {
	Group     string `json:"group,omitempty"`     // "" for the core group
	Kind      string `json:"kind"`                // "Deployment"
	Namespace string `json:"namespace,omitempty"` // "" for cluster-scoped resources
	Name      string `json:"name"`                // metadata.name
}

// Meta is the metadata that selectors and orders may read: a resource's ID, its
// version, and its labels and annotations. The maps belong to the caller and
// are never modified.
type Meta struct {
	ID
	Version     string            // "v1", without the group
	Labels      map[string]string // may be nil
	Annotations map[string]string // may be nil
}

// APIVersion returns the resource's apiVersion: "group/version", or only the
// version for the core group.
func (m Meta) APIVersion() string {
	if m.Group == "" {
		return m.Version
	}
	return m.Group + "/" + m.Version
}

// LocalConfigAnnotation marks objects that only configure a build or a tool, if "true".
const LocalConfigAnnotation = "config.kubernetes.io/local-config"

// IsLocalConfig reports whether a resource is a file of a package that is never applied: a
// Kptfile, the inventory that kpt live init writes, or a resource with LocalConfigAnnotation.
func (m Meta) IsLocalConfig() bool {
	_, isInventory := m.Labels["cli-utils.sigs.k8s.io/inventory-id"]
	return m.Annotations[LocalConfigAnnotation] == "true" ||
		m.Group == "kpt.dev" && (m.Kind == "Kptfile" || m.Kind == "ResourceGroup" && isInventory)
}

// GroupKind returns "Kind.group", or "Kind" for the core group.
func (id ID) GroupKind() string {
	if id.Group == "" {
		return id.Kind
	}
	return id.Kind + "." + id.Group
}

// String returns the ID for display, "Deployment shop/web", with the kind of KindName.
func (id ID) String() string {
	if id.Namespace == "" {
		return id.KindName() + " " + id.Name
	}
	return id.KindName() + " " + id.Namespace + "/" + id.Name
}

// Reference returns the ID as in annotations that list dependencies (the syntax of cli-utils):
// "apps/namespaces/shop/Deployment/web", or group/Kind/name; the core group is empty.
func (id ID) Reference() string {
	if id.Namespace == "" {
		return id.Group + "/" + id.Kind + "/" + id.Name
	}
	return id.Group + "/namespaces/" + id.Namespace + "/" + id.Kind + "/" + id.Name
}

// KindName returns the kind for display. It includes the group, unless that has no dot or
// ends in .k8s.io: a Service of serving.knative.dev is not confused with a core Service.
func (id ID) KindName() string {
	if IsKubernetesGroup(id.Group) {
		return id.Kind
	}
	return id.GroupKind()
}

// IsKubernetesGroup reports whether a group is of the Kubernetes project: groups without a
// dot (apps, batch) and groups below k8s.io, including the Gateway API's. KindName omits it.
func IsKubernetesGroup(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// IsNative reports whether kube-apiserver or its aggregation layer serves the
// group. Other groups below k8s.io, such as the Gateway API's, are defined by
// CRDs.
func IsNative(group string) bool {
	return slices.Contains([]string{
		"", "apps", "autoscaling", "batch", "extensions", "policy",
		"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io",
		"certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io",
		"networking.k8s.io", "node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
	}, group)
}

// IsCRD reports whether the ID names a CustomResourceDefinition, in any version.
func (id ID) IsCRD() bool {
	return id.Group == "apiextensions.k8s.io" && id.Kind == "CustomResourceDefinition"
}

// MakesPods reports whether objects of this kind create Pods.
func (id ID) MakesPods() bool {
	return slices.Contains([]string{"Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "Job.batch", "ReplicationController"}, id.GroupKind())
}

// IsNamespace reports whether the ID names a core Namespace.
func (id ID) IsNamespace() bool { return id.Group == "" && id.Kind == "Namespace" }

// Compare orders IDs by group, kind, namespace and name. It returns a negative
// number, 0 or a positive number, as slices.SortFunc expects.
func Compare(a, b ID) int {
	switch {
	case a.Group != b.Group:
		return strings.Compare(a.Group, b.Group)
	case a.Kind != b.Kind:
		return strings.Compare(a.Kind, b.Kind)
	case a.Namespace != b.Namespace:
		return strings.Compare(a.Namespace, b.Namespace)
	}
	return strings.Compare(a.Name, b.Name)
}

// SplitAPIVersion splits an apiVersion field: "apps/v1" into "apps" and "v1",
// "v1" into "" and "v1".
func SplitAPIVersion(apiVersion string) (group, version string) {
	if group, version, ok := strings.Cut(apiVersion, "/"); ok {
		return group, version
	}
	return "", apiVersion
}
