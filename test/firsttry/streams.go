package main

import (
	"strings"

	"github.com/ordapply/ordapply/test/standin"
	"github.com/ordapply/ordapply/test/unkind"
)

// stream is a real stream, or the install of a program, with its expected result.
type stream struct {
	name string
	// program is the install of a program whose Pods wait for other objects; nil for a
	// stream of the folder.
	program *unkind.Program
	// namespace is the namespace for -n according to its documentation, created
	// before; "" means the context's.
	namespace string
	// finds are the kinds of other projects that it expects to be installed,
	// and namespaces the namespaces that it expects.
	finds      []standin.Kind
	namespaces []string
	// leaves are the objects that no applier can apply, as KIND/NAME, where an
	// empty name matches objects without one; why is the reason.
	leaves []string
	why    string
	// unnamed maps texts of expected errors about objects without a name to
	// their number, for the unmodified stream. Errors about other objects of
	// leaves and finds must name the object.
	unnamed map[string]int
}

// converges reports whether the unmodified stream can be applied to an empty
// cluster.
func (s stream) converges() bool { return len(s.finds) == 0 && len(s.leaves) == 0 }

// These names stand for all programs and for all streams of the folder.
const (
	programsName = "unkind"
	streamsName  = "streams"
)

// is reports whether a name on the command line stands for the stream. unkind/gatekeeper leaves
// out the stream gatekeeper, and streams/gatekeeper the program.
func (s stream) is(name string) bool {
	if s.program == nil {
		return name == s.name || name == streamsName+"/"+s.name || name == streamsName
	}
	return name == s.name || name == s.program.Name || name == programsName
}

// all returns the streams of the folder, smallest first, and the programs.
func all() ([]stream, error) {
	programs, err := unkind.Programs()
	found := streams()
	for _, p := range programs {
		found = append(found, stream{name: programsName + "/" + p.Name, program: &p})
	}
	return found, err
}

// streams returns the streams of the folder, smallest first.
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
		// Installs whose Jobs make the certificates of their webhooks.
		{name: "world/ingress-nginx-static"},
		{name: "world/ingress-nginx-chart"},
		{name: "world/kube-prometheus-stack"},
	}
}

// kinds returns kinds of the Prometheus operator.
func kinds(names ...string) []standin.Kind {
	var all []standin.Kind
	for _, name := range names {
		plural := map[string]string{"ServiceMonitor": "servicemonitors", "Prometheus": "prometheuses"}[name]
		all = append(all, standin.Kind{Group: "monitoring.coreos.com", Version: "v1", Kind: name, Plural: plural, Namespaced: true})
	}
	return all
}

// snapshotKinds returns kinds of the CSI snapshot controller.
func snapshotKinds() []standin.Kind {
	const group = "snapshot.storage.k8s.io"
	return []standin.Kind{
		{Group: group, Version: "v1", Kind: "VolumeSnapshot", Plural: "volumesnapshots", Namespaced: true},
		{Group: group, Version: "v1", Kind: "VolumeSnapshotClass", Plural: "volumesnapshotclasses"},
	}
}

// meshKinds returns kinds of Istio and of the Gateway API.
func meshKinds() []standin.Kind {
	return []standin.Kind{
		{Group: "networking.istio.io", Version: "v1alpha3", Kind: "VirtualService", Plural: "virtualservices", Namespaced: true},
		{Group: "networking.istio.io", Version: "v1alpha3", Kind: "ServiceEntry", Plural: "serviceentries", Namespaced: true},
		{Group: "gateway.networking.k8s.io", Version: "v1beta1", Kind: "Gateway", Plural: "gateways", Namespaced: true},
		{Group: "gateway.networking.k8s.io", Version: "v1beta1", Kind: "HTTPRoute", Plural: "httproutes", Namespaced: true},
	}
}

// leavesOut reports whether an object is left out of the stream.
func (s stream) leavesOut(kind, name string) bool {
	for _, left := range s.leaves {
		leftKind, leftName, _ := strings.Cut(left, "/")
		if kind == leftKind && name == leftName {
			return true
		}
	}
	return false
}

// flags returns the flags with which a stream is applied.
func (s stream) flags() []string {
	if s.namespace == "" {
		return nil
	}
	return []string{"-n", s.namespace}
}
