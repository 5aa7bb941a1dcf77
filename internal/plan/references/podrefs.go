package references

import (
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// podReader reads the needs of a workload's Pods.
type podReader struct {
	*references
	namespace string
	strength  graph.Strength  // strength of edges without which Pods cannot start
	replaced  map[string]bool // volumes that a StatefulSet replaces by claims of its templates
}

// pod adds edges from everything that Pods need to start: ServiceAccount,
// ConfigMaps, Secrets, claims and classes; and from the bindings of the
// ServiceAccount.
func (refs *references) pod(r ordering.Resource) {
	spec := refs.templates[refs.at].spec
	if spec == nil {
		return
	}
	p := podReader{refs, r.Namespace, podStrength(r), claimedVolumes(r)}
	p.named("ServiceAccount", accountName(spec, ""), "serviceAccountName", true)
	for _, secret := range List(spec, "imagePullSecrets") {
		p.named("Secret", String(secret, "name"), "imagePullSecrets", false)
	}
	for _, volume := range List(spec, "volumes") {
		if !p.replaced[String(volume, "name")] {
			p.volume(volume)
		}
	}
	for _, containers := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for _, container := range List(spec, containers) {
			p.container(container)
		}
	}
	p.class("scheduling.k8s.io", "PriorityClass", String(spec, "priorityClassName"), "priorityClassName")
	p.class("node.k8s.io", "RuntimeClass", String(spec, "runtimeClassName"), "runtimeClassName")
	for _, claim := range List(spec, "resourceClaims") {
		p.resourceClaim(claim)
	}
	for _, binding := range refs.bindingsOf(serviceAccount(r.Namespace, spec)) {
		refs.edge(binding, ordering.Applied, graph.Helps, "rbac", "its ServiceAccount is bound by")
	}
}

// named adds edges for a reference by name to a kind of the core group.
func (p *podReader) named(kind, name, where string, needed bool) {
	if name == "" {
		return
	}
	s := graph.Helps
	if needed {
		s = p.strength
	}
	id := object.ID{Kind: kind, Namespace: p.namespace, Name: name}
	p.need(id, s, "pod-template", where+" names")
	for _, job := range p.makersOf(id) {
		p.edge(job, ordering.Applied, graph.Helps, "filled", where+" names "+kind+" "+name+", which may be created by")
	}
	for _, f := range p.fillersOf(id) {
		p.edge(f.at, f.gate, s, f.rule, where+" names "+kind+" "+name+", which is filled by")
	}
}

// claimedVolumes returns the names of a StatefulSet's claim templates. Its controller
// replaces volumes of these names.
func claimedVolumes(r ordering.Resource) map[string]bool {
	if r.Group != "apps" || r.Kind != "StatefulSet" {
		return nil
	}
	out := map[string]bool{}
	for _, template := range List(r.Object, "spec", "volumeClaimTemplates") {
		out[String(template, "metadata", "name")] = true
	}
	return out
}

func (p *podReader) class(group, kind, name, where string) {
	p.need(object.ID{Group: group, Kind: kind, Name: name}, p.strength, "pod-template", where+" names")
}

func (p *podReader) volume(volume any) {
	where := "volume " + String(volume, "name")
	p.source(volume, where, "secretName")
	p.claimed(String(volume, "persistentVolumeClaim", "claimName"), where)
	p.providerClass(volume, where)
	for _, source := range List(volume, "projected", "sources") {
		p.source(source, where, "name")
	}
	for _, driver := range []string{"cephfs", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"} {
		p.named("Secret", String(volume, driver, "secretRef", "name"), where, true)
	}
	p.named("Secret", String(volume, "azureFile", "secretName"), where, true)
	p.named("Secret", String(volume, "csi", "nodePublishSecretRef", "name"), where, true)
	if template := Field(volume, "ephemeral", "volumeClaimTemplate"); template != nil {
		p.storageClass(template, p.strength, where)
	}
}

// source adds edges from the ConfigMap or Secret of a volume.
func (p *podReader) source(volume any, where, secretField string) {
	p.named("ConfigMap", String(volume, "configMap", "name"), where, !isOptional(volume, "configMap"))
	p.named("Secret", String(volume, "secret", secretField), where, !isOptional(volume, "secret"))
}

func (p *podReader) container(container any) {
	for _, from := range List(container, "envFrom") {
		where := "container " + String(container, "name") + " envFrom"
		p.named("ConfigMap", String(from, "configMapRef", "name"), where, !isOptional(from, "configMapRef"))
		p.named("Secret", String(from, "secretRef", "name"), where, !isOptional(from, "secretRef"))
	}
	for _, env := range List(container, "env") {
		from := Field(env, "valueFrom")
		if from == nil {
			continue
		}
		where := "container " + String(container, "name") + " env " + String(env, "name")
		p.named("ConfigMap", String(from, "configMapKeyRef", "name"), where, !isOptional(from, "configMapKeyRef"))
		p.named("Secret", String(from, "secretKeyRef", "name"), where, !isOptional(from, "secretKeyRef"))
	}
}

func isOptional(v any, field string) bool { return Field(v, field, "optional") == true }

// claimed adds edges for a claim that a Pod mounts: from the claim and its
// volume.
func (p *podReader) claimed(name, where string) {
	p.named("PersistentVolumeClaim", name, where, true)
	id := claimID(p.namespace, name)
	if claim, ok := p.ByID[id]; ok {
		p.boundVolume(p.Resources[claim].Object, p.volumes[id], p.strength, where+" names PersistentVolumeClaim "+name+", which ")
	}
}
