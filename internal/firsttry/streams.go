package main

import (
	"strings"

	"github.com/ordapply/ordapply/internal/standin"
)

// stream is a real stream and what can come of it.
type stream struct {
	name string
	// namespace is what its documentation says to apply it to with -n, after
	// creating it; "": the context's.
	namespace string
	// finds are kinds of other projects that it expects to be installed, and
	// namespaces the namespaces that it expects.
	finds      []standin.Kind
	namespaces []string
	// leaves are the objects that no applier can bring onto a cluster, as
	// KIND/NAME, where an empty name is that of objects without one; why says so.
	leaves []string
	why    string
	// unnamed are texts of the errors that it must get as it stands, with how often
	// each comes, about objects that have no name. What is left out and has one, and
	// what has the kinds of finds, must be named.
	unnamed map[string]int
}

// converges reports whether the stream as it stands can be applied to an empty
// cluster.
func (s stream) converges() bool { return len(s.finds) == 0 && len(s.leaves) == 0 }

// streams are in the order of their size, smallest first.
func streams() []stream {
	return []stream{
		{name: "online-boutique", finds: meshKinds()},
		{name: "metallb", finds: kinds("ServiceMonitor")},
		{name: "postgres-operator", finds: append(kinds("ServiceMonitor"), standin.Kind{Group: "zalando.org", Version: "v1", Kind: "PlatformCredentialsSet", Plural: "platformcredentialssets", Namespaced: true})},
		{name: "gatekeeper"},
		{
			name: "knative-serving", leaves: []string{"Job/"}, why: "a Job with generateName, which is another one each time",
			unnamed: map[string]int{"metadata.generateName makes a new object on each run": 1},
		},
		{name: "flux"},
		{name: "jobset"},
		{name: "cert-manager"},
		{
			name: "argo-workflows", namespace: "argo", leaves: []string{"Workflow/"}, why: "Workflows with generateName or without a name, which are other ones each time",
			unnamed: map[string]int{"metadata.generateName makes a new object on each run": 79, "metadata.name is missing": 1},
		},
		{name: "cloudnative-pg"},
		{name: "rook-ceph", finds: append(kinds("ServiceMonitor", "Prometheus"), snapshotKinds()...)},
		{name: "argo-cd", namespace: "argocd"},
		{
			name: "external-secrets", namespaces: []string{"eso-fanout-source"},
			leaves: []string{"ClusterSecretStore/example"}, why: "a ClusterSecretStore that its own CRD refuses: it names five providers where one is allowed",
		},
		{name: "kube-prometheus"},
	}
}

// kinds are those of the Prometheus operator.
func kinds(names ...string) []standin.Kind {
	var all []standin.Kind
	for _, name := range names {
		plural := map[string]string{"ServiceMonitor": "servicemonitors", "Prometheus": "prometheuses"}[name]
		all = append(all, standin.Kind{Group: "monitoring.coreos.com", Version: "v1", Kind: name, Plural: plural, Namespaced: true})
	}
	return all
}

// snapshotKinds are those of the CSI snapshot controller.
func snapshotKinds() []standin.Kind {
	const group = "snapshot.storage.k8s.io"
	return []standin.Kind{
		{Group: group, Version: "v1", Kind: "VolumeSnapshot", Plural: "volumesnapshots", Namespaced: true},
		{Group: group, Version: "v1", Kind: "VolumeSnapshotClass", Plural: "volumesnapshotclasses"},
	}
}

// meshKinds are those of Istio and of the Gateway API.
func meshKinds() []standin.Kind {
	return []standin.Kind{
		{Group: "networking.istio.io", Version: "v1alpha3", Kind: "VirtualService", Plural: "virtualservices", Namespaced: true},
		{Group: "networking.istio.io", Version: "v1alpha3", Kind: "ServiceEntry", Plural: "serviceentries", Namespaced: true},
		{Group: "gateway.networking.k8s.io", Version: "v1beta1", Kind: "Gateway", Plural: "gateways", Namespaced: true},
		{Group: "gateway.networking.k8s.io", Version: "v1beta1", Kind: "HTTPRoute", Plural: "httproutes", Namespaced: true},
	}
}

// leavesOut reports whether an object is one of those that the stream leaves.
func (s stream) leavesOut(kind, name string) bool {
	for _, left := range s.leaves {
		leftKind, leftName, _ := strings.Cut(left, "/")
		if kind == leftKind && name == leftName {
			return true
		}
	}
	return false
}
