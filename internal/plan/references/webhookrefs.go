package references

import (
	"maps"
	"slices"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

func isWebhookConfiguration(id object.ID) bool {
	return id.Group == "admissionregistration.k8s.io" &&
		(id.Kind == "MutatingWebhookConfiguration" || id.Kind == "ValidatingWebhookConfiguration")
}

// service adds edges from the Service and workloads behind a webhook configuration or an
// APIService. It waits only until their Pods exist: many backends become ready only once the
// configuration exists, because they write its CA bundle themselves.
func (refs *references) service(r ordering.Resource) {
	switch {
	case isWebhookConfiguration(r.ID):
		for _, webhook := range List(r.Object, "webhooks") {
			refs.backend(backendOf(webhook), "webhook "+String(webhook, "name"))
		}
	case r.Group == "apiregistration.k8s.io" && r.Kind == "APIService":
		refs.backend(serviceID(Field(r.Object, "spec", "service")), "spec.service")
	}
}

// backendOf returns the Service of a webhook; one without a name if it has none.
func backendOf(webhook any) object.ID { return serviceID(Field(webhook, "clientConfig", "service")) }

func serviceID(v any) object.ID {
	return object.ID{Kind: "Service", Namespace: String(v, "namespace"), Name: String(v, "name")}
}

func (refs *references) backend(id object.ID, where string) {
	refs.need(id, graph.Required, "backend", where+" names")
	service, ok := refs.ByID[id]
	if !ok {
		return
	}
	for _, workload := range refs.WorkloadsBehind(service) {
		s := graph.Serves
		if refs.rejectsPodsOf(refs.at, workload) {
			s = graph.Required // else none of its Pods could be created any more
		}
		refs.edge(workload, ordering.Started, s, "backend", where+" is served by")
	}
}

// intercepted adds the edges between a resource and the webhooks that review it. A custom
// resource waits until they answer, since they set its defaults. Others go before a webhook
// that would reject them until it answers, as in the orders of Helm and kustomize; so does
// every resource where a hook makes the webhook answer, for it runs after them. Pods are the
// business of PodWebhookEdges, and the API server never sends webhook configurations.
func (refs *references) intercepted(r ordering.Resource) {
	if isWebhookConfiguration(r.ID) || r.GroupKind() == "Pod" {
		return
	}
	custom := refs.IsCustom(r.ID)
	for _, hook := range refs.Webhooks {
		filler := refs.FillerOf(hook.At)
		switch {
		case !custom && !hook.failsClosed && filler != FilledByHook, !hook.Matches(refs.Index, r):
		case filler == FilledByHook:
			refs.goesBefore(hook.At, graph.Helps)
		case !custom:
			refs.goesBefore(hook.At, graph.DefaultPlace)
		case hook.failsClosed || filler != FilledByNothing:
			if e := refs.edge(hook.At, ordering.Ready, graph.Helps, "webhook", "its writes are intercepted by"); e != nil {
				e.Rejects = e.Rejects || hook.failsClosed
			}
		}
	}
}

// goesBefore makes a webhook configuration wait until the resource being read is applied.
func (refs *references) goesBefore(configuration int, s graph.Strength) {
	for _, e := range refs.edges[refs.first:] {
		if int(e.To) == configuration {
			return // another of its webhooks intercepts the resource, too
		}
	}
	why := ordering.Reason{Rule: "webhook", Detail: "would intercept, before it answers, " + refs.Resources[refs.at].ID.String(), Where: refs.Resources[configuration].Source}
	refs.edges = append(refs.edges, graph.NewEdge(refs.at, configuration, ordering.Applied, s, why))
}

// Webhook is a webhook of a configuration in the stream.
type Webhook struct {
	At                 int
	matchesExactly     bool      // matchPolicy Exact: it does not see other versions of a kind
	failsClosed        bool      // failurePolicy Fail: requests are rejected while it does not answer
	backend            object.ID // its Service; without a name if it has none
	rules              []webhookRule
	namespaces, labels selector
	conditions         []string // CEL expressions; a request is intercepted if all are true
}

type webhookRule struct {
	groups, versions, resources, operations []string
	scope                                   string
}

// addWebhooks indexes the webhooks of a configuration.
func (ix *Index) addWebhooks(i int, r ordering.Resource) {
	if isWebhookConfiguration(r.ID) {
		for _, w := range List(r.Object, "webhooks") {
			hook := readWebhook(i, w)
			ix.Webhooks = append(ix.Webhooks, hook)
			if hook.takesPods() {
				ix.podWebhooks = append(ix.podWebhooks, hook)
			}
		}
	}
}

func readWebhook(configuration int, v any) Webhook {
	w := Webhook{
		At: configuration, matchesExactly: String(v, "matchPolicy") == "Exact", failsClosed: String(v, "failurePolicy") != "Ignore", backend: backendOf(v),
		namespaces: readSelector(Field(v, "namespaceSelector")),
		labels:     readSelector(Field(v, "objectSelector")),
	}
	for _, condition := range List(v, "matchConditions") {
		w.conditions = append(w.conditions, String(condition, "expression"))
	}
	for _, rule := range List(v, "rules") {
		w.rules = append(w.rules, webhookRule{
			groups: Texts(rule, "apiGroups"), versions: Texts(rule, "apiVersions"),
			resources: Texts(rule, "resources"), operations: Texts(rule, "operations"), scope: String(rule, "scope"),
		})
	}
	return w
}

// names reports whether a rule's list contains one of the values, or "*".
func names(list []string, values ...string) bool {
	return slices.Contains(list, "*") || slices.ContainsFunc(values, func(v string) bool { return slices.Contains(list, v) })
}

// Matches reports whether a webhook intercepts the creation or update of a resource.
func (w Webhook) Matches(ix *Index, r ordering.Resource) bool {
	return slices.ContainsFunc(w.rules, func(rule webhookRule) bool { return rule.matches(ix, r, w.matchesExactly) }) &&
		w.labels.matches(r.Labels) && w.watches(ix, r.Namespace)
}

func (rule webhookRule) matches(ix *Index, r ordering.Resource, exact bool) bool {
	return names(rule.groups, r.Group) &&
		(!exact || names(rule.versions, r.Version)) &&
		names(rule.resources, ix.plural(r.ID), "*/*") &&
		names(rule.operations, "CREATE", "UPDATE") &&
		(rule.scope == "" || rule.scope == "*" || (rule.scope == "Namespaced") == (r.Namespace != ""))
}

// watches reports whether a webhook's namespaceSelector matches a namespace. Of
// a Namespace that is not in the stream only the name is known; it is assumed
// to have the other required labels.
func (w Webhook) watches(ix *Index, namespace string) bool {
	if namespace == "" || w.namespaces.empty() {
		return true
	}
	labels := map[string]string{namespaceNameLabel: namespace}
	i, ok := ix.ByID[object.ID{Kind: "Namespace", Name: namespace}]
	if !ok {
		return w.namespaces.about(namespaceNameLabel).matches(labels)
	}
	maps.Copy(labels, ix.Resources[i].Labels)
	labels[namespaceNameLabel] = namespace
	return w.namespaces.matches(labels)
}

// namespaceNameLabel is a label that the API server sets on every Namespace.
const namespaceNameLabel = "kubernetes.io/metadata.name"

// takesPods reports whether a webhook intercepts the creation of Pods.
func (w Webhook) takesPods() bool {
	return slices.ContainsFunc(w.rules, func(rule webhookRule) bool {
		return names(rule.groups, "") && names(rule.versions, "v1") && names(rule.resources, "pods", "*/*") &&
			names(rule.operations, "CREATE") && rule.scope != "Cluster"
	})
}
