package references

import (
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// A webhook configuration is rarely complete in its manifest: its CA bundle is written once
// its Service has a certificate. The writer determines the order.

// Filler is the writer of a webhook configuration's CA bundles.
type Filler uint8

// Values of Filler.
const (
	FilledAlready   Filler = iota // the manifest has the bundles, or none is needed
	FilledInCluster               // an annotation asks for it, or a workload of the stream may do it
	FilledByHook                  // a hook that runs after the resources of the stream are ready
	FilledByNothing               // nothing in the stream
)

// FillerOf returns the filler of a webhook configuration of the stream.
func (ix *Index) FillerOf(configuration int) Filler {
	if !isWebhookConfiguration(ix.Resources[configuration].ID) {
		return FilledAlready
	}
	known, ok := ix.fillersOfCA[configuration]
	if !ok {
		known = ix.findFiller(configuration)
		ix.fillersOfCA[configuration] = known
	}
	return known
}

func (ix *Index) findFiller(configuration int) Filler {
	r := ix.Resources[configuration]
	hooks := slices.DeleteFunc(slices.Clone(ix.Hooks), func(hook ordering.Resource) bool { return !runsAfter(hook) || PodSpec(hook.Object) == nil })
	switch {
	case !slices.ContainsFunc(List(r.Object, "webhooks"), lacksCA):
		return FilledAlready
	case asksForCA(r.Annotations):
		return FilledInCluster
	case slices.ContainsFunc(hooks, func(hook ordering.Resource) bool { return namesInPods(hook, r.Name) }):
		return FilledByHook
	case len(ix.writersOfCA(configuration)) > 0:
		return FilledInCluster
	case len(hooks) > 0:
		return FilledByHook
	}
	return FilledByNothing
}

// lacksCA reports whether the API server needs a CA bundle for a webhook, and the manifest
// has none.
func lacksCA(webhook any) bool {
	return Field(webhook, "clientConfig", "service") != nil && String(webhook, "clientConfig", "caBundle") == ""
}

// asksForCA reports whether an annotation asks a controller for CA bundles, as
// cert-manager's cainjector and OpenShift's service CA define them.
func asksForCA(annotations map[string]string) bool {
	for key := range annotations {
		if _, name, _ := strings.Cut(key, "/"); strings.HasPrefix(name, "inject-") && strings.Contains(name, "ca") {
			return true
		}
	}
	return false
}

// writersOfCA returns the workloads that name the configuration, or whose ServiceAccount may
// write configurations.
func (ix *Index) writersOfCA(configuration int) []int {
	r := ix.Resources[configuration]
	var out []int
	for i, other := range ix.Resources {
		if PodSpec(other.Object) != nil && namesInPods(other, r.Name) {
			out = append(out, i)
		}
	}
	if len(out) > 0 {
		return out
	}
	return newWebhookDependencies(ix, [][]graph.Edge{ix.aggregations()}).writersOf(r.Group, strings.ToLower(r.Kind)+"s")
}

// aggregations returns edges from aggregated ClusterRoles to aggregating ones.
func (ix *Index) aggregations() []graph.Edge {
	refs := newReferences(ix)
	for i, r := range ix.Resources {
		refs.at, refs.first = i, len(refs.edges)
		refs.aggregates(r)
	}
	return refs.edges
}

// runsAfter reports whether a hook runs after the resources of the stream.
func runsAfter(hook ordering.Resource) bool {
	return strings.Contains(hook.Annotations["helm.sh/hook"], "post-install") || strings.Contains(hook.Annotations["helm.sh/hook"], "post-upgrade")
}

// rejectsPodsOf reports whether a webhook configuration would reject the Pods of a workload
// while its webhooks do not answer.
func (ix *Index) rejectsPodsOf(configuration, workload int) bool {
	pod, ok := podOf(ix.Resources[workload])
	return ok && slices.ContainsFunc(ix.podWebhooks, func(hook Webhook) bool {
		return hook.At == configuration && hook.failsClosed && hook.intercepts(ix, pod)
	})
}

// FailsOpen reports whether requests pass while the webhooks of a configuration do not
// answer: each of them has failurePolicy Ignore.
func FailsOpen(r ordering.Resource) bool {
	if !isWebhookConfiguration(r.ID) {
		return false
	}
	all := List(r.Object, "webhooks")
	return len(all) > 0 && !slices.ContainsFunc(all, func(w any) bool { return String(w, "failurePolicy") != "Ignore" })
}

// namesInPods reports whether arguments or variables of a workload have a name as a word.
func namesInPods(r ordering.Resource, name string) bool {
	return slices.Contains(podWords(r), name)
}

// podWords returns the names that may stand in the arguments, commands and variables of a
// workload's containers: "ingress-admission" for --webhook-name=ingress-admission.
func podWords(r ordering.Resource) []string {
	var out []string
	for _, where := range podTexts(r) {
		out = append(out, wordsOf(where.text)...)
	}
	return out
}

// podText is an argument or a variable of a container.
type podText struct{ where, text string }

func podTexts(r ordering.Resource) []podText {
	spec := PodSpec(r.Object)
	var out []podText
	for _, list := range []string{"initContainers", "containers"} {
		for _, container := range List(spec, list) {
			named := "container " + String(container, "name")
			for _, field := range []string{"command", "args"} {
				for _, text := range Texts(container, field) {
					out = append(out, podText{named + " " + field, text})
				}
			}
			for _, env := range List(container, "env") {
				out = append(out, podText{named + " env " + String(env, "name"), String(env, "value")})
			}
		}
	}
	return out
}

// wordsOf splits a text at everything that no name of an object has. Names of flags, which
// begin with a dash, are none.
func wordsOf(text string) []string {
	words := strings.FieldsFunc(text, isNotInName)
	return slices.DeleteFunc(words, func(word string) bool { return word[0] == '-' })
}

// written adds the edges from webhook configurations, Secrets and ConfigMaps that arguments
// and variables of a workload's containers name: it reads or writes them through the API.
func (refs *references) written(r ordering.Resource) {
	if refs.templates[refs.at].spec == nil {
		return
	}
	for _, configuration := range refs.ownBundles(refs.at) {
		refs.configured(r, refs.Resources[configuration].ID, "its ServiceAccount may fill the CA bundle of")
	}
	for _, t := range podTexts(r) {
		for _, word := range wordsOf(t.text) {
			for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
				refs.configured(r, object.ID{Group: "admissionregistration.k8s.io", Kind: kind, Name: word}, t.where+" names")
			}
			for _, kind := range []string{"ConfigMap", "Secret"} {
				if from, ok := refs.ByID[object.ID{Kind: kind, Namespace: r.Namespace, Name: word}]; ok {
					refs.edge(from, ordering.Applied, graph.Helps, ordering.RuleArgument, t.where+" names")
				}
			}
		}
	}
}

// ownBundles returns the webhook configurations that a workload serves and whose CA bundles
// it may fill: most programs that do so end when they do not find the configuration.
func (ix *Index) ownBundles(workload int) []int {
	var out []int
	for _, hook := range ix.Webhooks {
		service, ok := ix.ByID[hook.backend]
		if ok && ix.FillerOf(hook.At) == FilledInCluster && !asksForCA(ix.Resources[hook.At].Annotations) &&
			slices.Contains(ix.WorkloadsBehind(service), workload) && slices.Contains(ix.writersOfCA(hook.At), workload) {
			out = append(out, hook.At)
		}
	}
	return slices.Compact(out)
}

// configured adds the edge from a webhook configuration that a workload names, unless the
// configuration would keep the workload's own Pods from being created.
func (refs *references) configured(r ordering.Resource, id object.ID, where string) {
	from, ok := refs.ByID[id]
	if ok && !refs.rejectsPodsOf(from, refs.at) {
		refs.edge(from, ordering.Applied, podStrength(r), ordering.RuleArgument, where)
	}
}
