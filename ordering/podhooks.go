package ordering

import (
	"slices"
	"strings"

	"github.com/ordapply/ordapply/object"
)

// A webhook that changes or checks new Pods is ready before the workloads whose
// Pods it would see: a Pod that was created without it stays as it is. Those that
// must run before the webhook can answer are left out.

// takesPods reports whether a webhook intercepts the creation of Pods.
func (w webhook) takesPods() bool {
	return slices.ContainsFunc(w.rules, func(rule webhookRule) bool {
		return names(rule.groups, "") && names(rule.versions, "v1") && names(rule.resources, "pods", "*/*") &&
			names(rule.operations, "CREATE") && rule.scope != "Cluster"
	})
}

// podHookEdges let workloads wait for the webhooks of the stream that would
// intercept their Pods. The other edges between resources show what must be there
// before a webhook can answer.
func (ix *index) podHookEdges(others ...[]edge) []edge {
	if len(ix.podHooks) == 0 {
		return nil
	}
	hooks := map[int][]webhook{} // by configuration
	var configurations []int
	for _, hook := range ix.podHooks {
		if hooks[hook.at] == nil {
			configurations = append(configurations, hook.at)
		}
		hooks[hook.at] = append(hooks[hook.at], hook)
	}
	refs := newReferences(ix)
	before := newWebhookNeeds(ix, others)
	for _, configuration := range configurations {
		exempt := before.of(configuration)
		for i, r := range ix.resources {
			if exempt[i] {
				continue
			}
			if pod, ok := podOf(r); ok {
				refs.at, refs.first = i, len(refs.edges)
				refs.interceptedPod(pod, hooks[configuration])
			}
		}
	}
	return refs.edges
}

// interceptedPod lets a workload wait for the webhooks of one configuration.
func (refs *references) interceptedPod(pod createdPod, hooks []webhook) {
	for _, hook := range hooks {
		if !hook.intercepts(refs.index, pod) {
			continue
		}
		s := helps
		if hook.closed && podStrength(refs.resources[refs.at]) == required {
			s = intended
		}
		refs.edge(hook.at, Ready, s, "pod-webhook", "its Pods are intercepted by")
	}
}

// createdPod is a Pod as its creation would be reviewed, as far as the manifest of
// its workload shows.
type createdPod struct {
	namespace string
	labels    map[string]string
	object    map[string]any
	user      string // who creates it; "" when that is not known
}

// podOf is a Pod that a workload creates, false for one that the cluster itself
// needs: before those run, nothing may answer.
func podOf(r Resource) (createdPod, bool) {
	holder, spec := podTemplate(r.Object)
	if spec == nil || strings.HasPrefix(str(spec, "priorityClassName"), "system-") {
		return createdPod{}, false
	}
	creator := creatorOf(r)
	labels := stringMap(at(holder, "metadata", "labels"))
	for _, key := range creator.labels {
		if _, ok := labels[key]; !ok {
			labels[key] = r.Name
		}
	}
	metadata := map[string]any{"namespace": r.Namespace, "generateName": r.Name + "-", "labels": asFields(labels)}
	if annotations := at(holder, "metadata", "annotations"); annotations != nil {
		metadata["annotations"] = annotations
	}
	if r.Kind == "Pod" && r.Group == "" {
		delete(metadata, "generateName")
		metadata["name"] = r.Name
	}
	pod := map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
	return createdPod{namespace: r.Namespace, labels: labels, object: pod, user: creator.user}, true
}

// podCreator is what creates the Pods of a kind, and the labels that it gives them
// beside those of the template.
type podCreator struct {
	user   string
	labels []string
}

func creatorOf(r Resource) podCreator {
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

// intercepts reports whether a webhook would be asked about a Pod. A condition
// that cannot be evaluated is taken to hold.
func (w webhook) intercepts(ix *index, pod createdPod) bool {
	if !w.watches(ix, pod.namespace) || !w.labels.matches(pod.labels) {
		return false
	}
	if ix.condition == nil {
		return true
	}
	for _, condition := range w.conditions {
		if holds, known := ix.condition(condition, pod.review()); known && !holds {
			return false
		}
	}
	return true
}

// review is what a match condition sees of a Pod that is created.
func (pod createdPod) review() map[string]any {
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

// webhookNeeds finds what must be there before a webhook can answer: what its
// configuration needs, by the edges that were read, and the controllers that must
// do their part for that.
type webhookNeeds struct {
	*index
	needs   [][]int              // of each resource
	writers map[[2]string][]int  // workloads that may write a kind, by its group and plural
	rules   map[int][]permission // of each workload that was asked about
}

// permission is a rule of a role.
type permission struct {
	groups, resources, verbs []string
}

func newWebhookNeeds(ix *index, edges [][]edge) *webhookNeeds {
	f := &webhookNeeds{index: ix, needs: make([][]int, len(ix.resources)), writers: map[[2]string][]int{}, rules: map[int][]permission{}}
	isResource := func(v int32) bool { return int(v) < len(ix.resources) }
	for _, e := range slices.Concat(edges...) {
		if isResource(e.from) && isResource(e.to) {
			f.needs[e.to] = append(f.needs[e.to], int(e.from))
		}
	}
	return f
}

// of marks what must be there before a webhook configuration is ready.
func (f *webhookNeeds) of(configuration int) []bool {
	marked := make([]bool, len(f.resources))
	road := []int{configuration}
	add := func(more []int) {
		for _, i := range more {
			if !marked[i] {
				marked[i] = true
				road = append(road, i)
			}
		}
	}
	for next := 0; next < len(road); next++ {
		i := road[next]
		add(f.needs[i])
		switch r := f.resources[i]; {
		case isWebhookConfiguration(r.ID):
			add(f.bundlers(i))
		case f.isCustom(r.ID):
			add(f.writersOf(r.Group, f.plural(r.ID)))
		}
	}
	return marked
}

// bundlers are the workloads that may fill in the CA bundle of a webhook
// configuration, where its manifest has none: those behind it, if these may.
func (f *webhookNeeds) bundlers(configuration int) []int {
	r := f.resources[configuration]
	unsigned := func(w any) bool {
		return at(w, "clientConfig", "service") != nil && str(w, "clientConfig", "caBundle") == ""
	}
	if !slices.ContainsFunc(list(r.Object, "webhooks"), unsigned) {
		return nil
	}
	writers := f.writersOf(r.Group, strings.ToLower(r.Kind)+"s")
	var own []int
	for _, i := range writers {
		if slices.Contains(f.needs[configuration], i) {
			own = append(own, i)
		}
	}
	if len(own) > 0 {
		return own
	}
	return writers
}

// writersOf are the workloads of the stream whose account may write a kind: one of
// them is its controller. Those whose role names the group come before those that
// may write everything.
func (f *webhookNeeds) writersOf(group, plural string) []int {
	key := [2]string{group, plural}
	if known, ok := f.writers[key]; ok {
		return known
	}
	var named, all []int
	for i, r := range f.resources {
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

// permissions are those of a workload's account, by the roles of the stream.
func (f *webhookNeeds) permissions(i int, r Resource) []permission {
	known, ok := f.rules[i]
	if spec := podSpec(r.Object); !ok && spec != nil {
		for _, binding := range f.bindingsOf(serviceAccount(r.Namespace, spec)) {
			known = append(known, f.granted(f.resources[binding])...)
		}
		f.rules[i] = known
	}
	return known
}

// granted are the rules of the role that a binding gives.
func (f *webhookNeeds) granted(binding Resource) []permission {
	id := roleOf(binding)
	role, ok := f.byID[id]
	switch {
	case ok:
	case id == object.ID{Group: rbacGroup, Kind: "ClusterRole", Name: "cluster-admin"}:
		return []permission{{[]string{"*"}, []string{"*"}, []string{"*"}}}
	default:
		return nil
	}
	rules := list(f.resources[role].Object, "rules")
	for _, i := range f.needs[role] { // what it aggregates
		rules = append(slices.Clip(rules), list(f.resources[i].Object, "rules")...)
	}
	var out []permission
	for _, rule := range rules {
		out = append(out, permission{texts(rule, "apiGroups"), texts(rule, "resources"), texts(rule, "verbs")})
	}
	return out
}
