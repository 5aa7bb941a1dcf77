package references

import (
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// A webhook that mutates or validates Pods must be ready before the workloads
// whose Pods it intercepts, because a Pod created without it is not changed
// later. Workloads that must run before the webhook can answer are created before it.

// PodWebhookEdges returns edges from webhooks to the workloads whose Pods they
// intercept. others are the other edges between resources; they show the needs
// of a webhook before it can answer.
func (ix *Index) PodWebhookEdges(others ...[]graph.Edge) []graph.Edge {
	if len(ix.podWebhooks) == 0 {
		return nil
	}
	hooks := map[int][]Webhook{} // by webhook configuration
	var configurations []int
	for _, hook := range ix.podWebhooks {
		if hooks[hook.At] == nil {
			configurations = append(configurations, hook.At)
		}
		hooks[hook.At] = append(hooks[hook.At], hook)
	}
	refs := newReferences(ix)
	before := newWebhookDependencies(ix, others)
	for _, configuration := range configurations {
		exempt, last := before.of(configuration), ix.FillerOf(configuration) == FilledByHook
		for i, r := range ix.Resources {
			pod, ok := podOf(r)
			switch {
			case !ok:
			case slices.Contains(before.needs[configuration], i):
			case last || exempt[i]:
				refs.at, refs.first = configuration, len(refs.edges)
				refs.createdBefore(i, pod, hooks[configuration])
			default:
				refs.at, refs.first = i, len(refs.edges)
				refs.interceptedPod(pod, hooks[configuration])
			}
		}
	}
	return refs.edges
}

// interceptedPod adds the edges from one webhook configuration to a workload. A webhook
// that fails open holds up none of its own control plane, and no workload if nothing fills its
// CA bundle.
func (refs *references) interceptedPod(pod createdPod, hooks []Webhook) {
	for _, hook := range hooks {
		switch {
		case !hook.intercepts(refs.Index, pod):
		case hook.failsClosed && podStrength(refs.Resources[refs.at]) == graph.Required:
			refs.edge(hook.At, ordering.Ready, graph.Intended, "pod-webhook", "its Pods are intercepted by")
		case hook.failsClosed, pod.namespace != hook.backend.Namespace && refs.FillerOf(hook.At) != FilledByNothing:
			refs.edge(hook.At, ordering.Ready, graph.Helps, "pod-webhook", "its Pods are intercepted by")
		}
	}
}

// createdBefore makes a webhook configuration wait for the Pods of a workload that its
// webhooks would reject until they answer, and without which they may never do so.
func (refs *references) createdBefore(workload int, pod createdPod, hooks []Webhook) {
	if slices.ContainsFunc(hooks, func(hook Webhook) bool { return hook.failsClosed && hook.intercepts(refs.Index, pod) }) {
		refs.edge(workload, ordering.Started, graph.Required, "pod-webhook", "would intercept, before it answers, the Pods of")
	}
}

// createdPod is a Pod as an admission review would see it, as far as the
// workload's manifest shows it.
type createdPod struct {
	namespace string
	labels    map[string]string
	object    map[string]any
	user      string // the creating user; "" if unknown
}

// podOf returns a Pod that a workload creates. ok is false for other resources,
// and for workloads with a system- priority class, which must start before any
// webhook.
func podOf(r ordering.Resource) (createdPod, bool) {
	template := podTemplateOf(r.Object)
	if template.spec == nil || strings.HasPrefix(String(template.spec, "priorityClassName"), "system-") {
		return createdPod{}, false
	}
	creator := creatorOf(r)
	labels := template.labels()
	for _, key := range creator.labels {
		if _, ok := labels[key]; !ok {
			labels[key] = r.Name
		}
	}
	metadata := map[string]any{"namespace": r.Namespace, "generateName": r.Name + "-", "labels": asFields(labels)}
	if annotations := Field(template.holder, "metadata", "annotations"); annotations != nil {
		metadata["annotations"] = annotations
	}
	if r.Kind == "Pod" && r.Group == "" {
		delete(metadata, "generateName")
		metadata["name"] = r.Name
	}
	pod := map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.spec}
	return createdPod{namespace: r.Namespace, labels: labels, object: pod, user: creator.user}, true
}

// podCreator is the user that creates the Pods of a kind, and the labels it
// adds to the template's.
type podCreator struct {
	user   string
	labels []string
}

func creatorOf(r ordering.Resource) podCreator {
	const user = "system:serviceaccount:kube-system:"
	job := []string{"batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name"}
	switch r.GroupKind() {
	case "Deployment.apps", "ReplicaSet.apps":
		return podCreator{user + "replicaset-controller", []string{"pod-template-hash"}}
	case "StatefulSet.apps":
		return podCreator{user + "statefulset-controller", []string{"apps.kubernetes.io/pod-index", "controller-revision-hash", "statefulset.kubernetes.io/pod-name"}}
	case "DaemonSet.apps":
		return podCreator{user + "daemon-set-controller", []string{"controller-revision-hash", "pod-template-generation"}}
	case "Job.batch", "CronJob.batch":
		return podCreator{user + "job-controller", job}
	case "ReplicationController":
		return podCreator{user: user + "replication-controller"}
	}
	return podCreator{}
}

// intercepts reports whether a webhook would review a Pod. A condition that
// cannot be evaluated counts as true.
func (w Webhook) intercepts(ix *Index, pod createdPod) bool {
	if !w.watches(ix, pod.namespace) || !w.labels.matches(pod.labels) {
		return false
	}
	if ix.condition == nil {
		return true
	}
	return !slices.ContainsFunc(w.conditions, func(condition string) bool {
		holds, known := ix.condition(condition, pod.admissionVariables())
		return known && !holds
	})
}

// admissionVariables returns the variables of a match condition for the creation of a Pod.
func (pod createdPod) admissionVariables() map[string]any {
	resource := map[string]any{"group": "", "version": "v1", "resource": "pods"}
	kind := map[string]any{"group": "", "version": "v1", "kind": "Pod"}
	request := map[string]any{
		"kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource, "subResource": "",
		"namespace": pod.namespace, "operation": "CREATE", "dryRun": false,
	}
	if pod.user != "" {
		request["userInfo"] = map[string]any{"username": pod.user, "groups": []any{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"}}
	}
	return map[string]any{"object": pod.object, "oldObject": nil, "request": request}
}

func asFields(labels map[string]string) map[string]any {
	fields := make(map[string]any, len(labels))
	for key, value := range labels {
		fields[key] = value
	}
	return fields
}

// webhookDependencies computes a webhook's needs before it can answer: the
// dependencies of its configuration, and the controllers that these need.
type webhookDependencies struct {
	*Index
	needs   [][]int              // per resource: its dependencies
	writers map[[2]string][]int  // workloads that may write a kind, by group and plural
	rules   map[int][]permission // cache of permissions, by workload
}

// permission is one rule of a role.
type permission struct {
	groups, resources, verbs []string
}

func newWebhookDependencies(ix *Index, edges [][]graph.Edge) *webhookDependencies {
	f := &webhookDependencies{Index: ix, needs: make([][]int, len(ix.Resources)), writers: map[[2]string][]int{}, rules: map[int][]permission{}}
	isResource := func(v int32) bool { return int(v) < len(ix.Resources) }
	for _, e := range slices.Concat(edges...) {
		if isResource(e.From) && isResource(e.To) {
			f.needs[e.To] = append(f.needs[e.To], int(e.From))
		}
	}
	return f
}

// of reports, per resource, whether it must exist before a webhook
// configuration is ready.
func (f *webhookDependencies) of(configuration int) []bool {
	marked := make([]bool, len(f.Resources))
	reached := []int{configuration}
	add := func(more []int) {
		for _, i := range more {
			if !marked[i] {
				marked[i] = true
				reached = append(reached, i)
			}
		}
	}
	for next := 0; next < len(reached); next++ {
		i := reached[next]
		add(f.needs[i])
		switch r := f.Resources[i]; {
		case isWebhookConfiguration(r.ID):
			add(f.caInjectors(i))
		case f.IsCustom(r.ID):
			add(f.writersOf(r.Group, f.plural(r.ID)))
		}
	}
	return marked
}

// caInjectors returns the workloads that may inject the CA bundle of a webhook
// configuration whose manifest has none: the webhook's own backends if they
// have the permission, else all that have it.
func (f *webhookDependencies) caInjectors(configuration int) []int {
	r := f.Resources[configuration]
	if !slices.ContainsFunc(List(r.Object, "webhooks"), lacksCA) {
		return nil
	}
	writers := f.writersOf(r.Group, strings.ToLower(r.Kind)+"s")
	own := slices.DeleteFunc(slices.Clone(writers), func(i int) bool { return !slices.Contains(f.needs[configuration], i) })
	if len(own) > 0 {
		return own
	}
	return writers
}

// writersOf returns the workloads whose ServiceAccount may write a kind; one of
// them is its controller. Roles that name the group are preferred to roles for
// every group.
func (f *webhookDependencies) writersOf(group, plural string) []int {
	key := [2]string{group, plural}
	if known, ok := f.writers[key]; ok {
		return known
	}
	var named, all []int
	for i, r := range f.Resources {
		for _, p := range f.permissions(i, r) {
			if !p.writes(group, plural) {
				continue
			}
			if all = append(all, i); slices.Contains(p.groups, group) {
				named = append(named, i)
			}
		}
	}
	if len(named) > 0 {
		all = named
	}
	f.writers[key] = slices.Compact(all)
	return f.writers[key]
}

func (p permission) writes(group, plural string) bool {
	return names(p.groups, group) && names(p.resources, plural, plural+"/status") && names(p.verbs, "update", "patch")
}

// permissions returns the permissions of a workload's ServiceAccount that roles
// of the stream grant.
func (f *webhookDependencies) permissions(i int, r ordering.Resource) []permission {
	known, ok := f.rules[i]
	if spec := PodSpec(r.Object); !ok && spec != nil {
		for _, binding := range f.bindingsOf(serviceAccount(r.Namespace, spec)) {
			known = append(known, f.granted(f.Resources[binding])...)
		}
		f.rules[i] = known
	}
	return known
}

// granted returns the rules of the role that a binding grants.
func (f *webhookDependencies) granted(binding ordering.Resource) []permission {
	id := roleOf(binding)
	role, ok := f.ByID[id]
	switch {
	case ok:
	case id == object.ID{Group: RBACGroup, Kind: "ClusterRole", Name: "cluster-admin"}:
		return []permission{{[]string{"*"}, []string{"*"}, []string{"*"}}}
	default:
		return nil
	}
	rules := List(f.Resources[role].Object, "rules")
	for _, i := range f.needs[role] { // aggregated ClusterRoles
		rules = append(slices.Clip(rules), List(f.Resources[i].Object, "rules")...)
	}
	var out []permission
	for _, rule := range rules {
		out = append(out, permission{Texts(rule, "apiGroups"), Texts(rule, "resources"), Texts(rule, "verbs")})
	}
	return out
}
