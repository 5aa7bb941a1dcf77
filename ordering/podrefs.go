package ordering

import (
	"github.com/ordapply/ordapply/object"
)

// podSpec returns the Pod spec of a resource: its own, or that of its template;
// nil if it has none. Unknown kinds count too if their template is where the
// built-in kinds have it.
func podSpec(obj map[string]any) map[string]any {
	_, spec := podTemplate(obj)
	return spec
}

// podTemplate returns the object that has the Pods' metadata, and their spec.
func podTemplate(obj map[string]any) (holder, spec map[string]any) {
	own, ok := obj["spec"].(map[string]any)
	if !ok {
		return nil, nil
	}
	for _, path := range [][]string{{"template"}, {"jobTemplate", "spec", "template"}} {
		holder, _ := at(own, path...).(map[string]any)
		spec, ok := at(holder, "spec").(map[string]any)
		if ok && len(list(spec, "containers")) > 0 {
			return holder, spec
		}
	}
	if len(list(own, "containers")) > 0 {
		return obj, own
	}
	return nil, nil
}

// serviceAccount returns the ServiceAccount of a Pod spec.
func serviceAccount(namespace string, spec map[string]any) object.ID {
	return object.ID{Kind: "ServiceAccount", Namespace: namespace, Name: accountName(spec, "default")}
}

func accountName(spec map[string]any, fallback string) string {
	for _, field := range []string{"serviceAccountName", "serviceAccount"} {
		if name := str(spec, field); name != "" {
			return name
		}
	}
	return fallback
}

// podReader reads what a workload's Pods need to start.
type podReader struct {
	*references
	namespace string
	strength  strength // strength of edges without which Pods cannot start
}

// pod adds edges from everything that Pods need to start: ServiceAccount,
// ConfigMaps, Secrets, claims and classes; and from the bindings of the
// ServiceAccount.
func (refs *references) pod(r Resource) {
	spec := podSpec(r.Object)
	if spec == nil {
		return
	}
	p := podReader{refs, r.Namespace, podStrength(r)}
	p.named("ServiceAccount", accountName(spec, ""), "serviceAccountName", true)
	for _, secret := range list(spec, "imagePullSecrets") {
		p.named("Secret", str(secret, "name"), "imagePullSecrets", false)
	}
	for _, volume := range list(spec, "volumes") {
		p.volume(volume)
	}
	for _, containers := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for _, container := range list(spec, containers) {
			p.container(container)
		}
	}
	p.class("scheduling.k8s.io", "PriorityClass", str(spec, "priorityClassName"), "priorityClassName")
	p.class("node.k8s.io", "RuntimeClass", str(spec, "runtimeClassName"), "runtimeClassName")
	for _, claim := range list(spec, "resourceClaims") {
		p.resourceClaim(claim)
	}
	for _, binding := range refs.bindingsOf(serviceAccount(r.Namespace, spec)) {
		refs.edge(binding, Applied, helps, "rbac", "its ServiceAccount is bound by")
	}
}

// podStrength returns required if a workload becomes ready only when its Pods
// run, else helps.
func podStrength(r Resource) strength {
	switch {
	case r.Kind == "Pod" && r.Group == "":
	case r.Group == "batch" && r.Kind == "Job":
		if at(r.Object, "spec", "suspend") == true {
			return helps
		}
	case r.Group == "apps", r.Kind == "ReplicationController" && r.Group == "":
		if n := at(r.Object, "spec", "replicas"); n == int64(0) || n == float64(0) {
			return helps
		}
	default:
		return helps
	}
	return required
}

// named adds edges for a reference by name to a kind of the core group.
func (p *podReader) named(kind, name, where string, needed bool) {
	if name == "" {
		return
	}
	s := helps
	if needed {
		s = p.strength
	}
	id := object.ID{Kind: kind, Namespace: p.namespace, Name: name}
	p.need(id, s, "pod-template", where+" names")
	for _, f := range p.fillersOf(id) {
		p.edge(f.at, f.gate, s, f.rule, where+" names "+kind+" "+name+", which is filled by")
	}
}

func (p *podReader) class(group, kind, name, where string) {
	if name != "" {
		p.need(object.ID{Group: group, Kind: kind, Name: name}, p.strength, "pod-template", where+" names")
	}
}

func (p *podReader) volume(volume any) {
	where := "volume " + str(volume, "name")
	p.source(volume, where, "secretName")
	p.claimed(str(volume, "persistentVolumeClaim", "claimName"), where)
	p.providerClass(volume, where)
	for _, source := range list(volume, "projected", "sources") {
		p.source(source, where, "name")
	}
	for _, driver := range []string{"cephfs", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"} {
		p.named("Secret", str(volume, driver, "secretRef", "name"), where, true)
	}
	p.named("Secret", str(volume, "azureFile", "secretName"), where, true)
	p.named("Secret", str(volume, "csi", "nodePublishSecretRef", "name"), where, true)
	if template := at(volume, "ephemeral", "volumeClaimTemplate"); template != nil {
		p.storageClass(template, p.strength, where)
	}
}

// source adds edges from the ConfigMap or Secret of a volume.
func (p *podReader) source(volume any, where, secretField string) {
	p.named("ConfigMap", str(volume, "configMap", "name"), where, !isOptional(volume, "configMap"))
	p.named("Secret", str(volume, "secret", secretField), where, !isOptional(volume, "secret"))
}

func (p *podReader) container(container any) {
	for _, from := range list(container, "envFrom") {
		where := "container " + str(container, "name") + " envFrom"
		p.named("ConfigMap", str(from, "configMapRef", "name"), where, !isOptional(from, "configMapRef"))
		p.named("Secret", str(from, "secretRef", "name"), where, !isOptional(from, "secretRef"))
	}
	for _, env := range list(container, "env") {
		from := at(env, "valueFrom")
		if from == nil {
			continue
		}
		where := "container " + str(container, "name") + " env " + str(env, "name")
		p.named("ConfigMap", str(from, "configMapKeyRef", "name"), where, !isOptional(from, "configMapKeyRef"))
		p.named("Secret", str(from, "secretKeyRef", "name"), where, !isOptional(from, "secretKeyRef"))
	}
}

func isOptional(v any, field string) bool { return at(v, field, "optional") == true }
