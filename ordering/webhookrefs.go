package ordering

import (
	"slices"

	"github.com/ordapply/ordapply/object"
)

func isWebhookConfiguration(id object.ID) bool {
	return id.Group == "admissionregistration.k8s.io" &&
		(id.Kind == "MutatingWebhookConfiguration" || id.Kind == "ValidatingWebhookConfiguration")
}

// service adds edges from the Service and workloads behind a webhook
// configuration or an APIService, which is useless until they serve.
func (refs *references) service(r Resource) {
	switch {
	case isWebhookConfiguration(r.ID):
		for _, webhook := range list(r.Object, "webhooks") {
			refs.backend(at(webhook, "clientConfig", "service"), "webhook "+str(webhook, "name"))
		}
	case r.Group == "apiregistration.k8s.io" && r.Kind == "APIService":
		refs.backend(at(r.Object, "spec", "service"), "spec.service")
	}
}

func (refs *references) backend(v any, where string) {
	id := object.ID{Kind: "Service", Namespace: str(v, "namespace"), Name: str(v, "name")}
	if id.Name == "" {
		return
	}
	refs.need(id, required, "backend", where+" names")
	service, ok := refs.byID[id]
	if !ok {
		return
	}
	for _, workload := range refs.workloadsBehind(service) {
		refs.edge(workload, Ready, required, "backend", where+" is served by")
	}
}

// intercepted adds edges from the webhooks that default or validate a custom
// resource.
func (refs *references) intercepted(r Resource) {
	if !refs.isCustom(r.ID) {
		return
	}
	for _, hook := range refs.webhooks {
		if hook.matches(refs.index, r) {
			refs.edge(hook.at, Ready, helps, "webhook", "is intercepted by")
		}
	}
}

// webhook is a webhook of a configuration in the stream.
type webhook struct {
	at                 int
	matchesExactly     bool // matchPolicy Exact: it does not see other versions of a kind
	failsClosed        bool // failurePolicy Fail: requests are rejected while it does not answer
	rules              []webhookRule
	namespaces, labels selector
	conditions         []string // CEL expressions; a request is intercepted if all are true
}

type webhookRule struct {
	groups, versions, resources, operations []string
	scope                                   string
}

// addWebhooks indexes the webhooks of a configuration.
func (ix *index) addWebhooks(i int, r Resource) {
	if isWebhookConfiguration(r.ID) {
		for _, w := range list(r.Object, "webhooks") {
			hook := readWebhook(i, w)
			ix.webhooks = append(ix.webhooks, hook)
			if hook.takesPods() {
				ix.podWebhooks = append(ix.podWebhooks, hook)
			}
		}
	}
}

func readWebhook(configuration int, v any) webhook {
	w := webhook{
		at: configuration, matchesExactly: str(v, "matchPolicy") == "Exact", failsClosed: str(v, "failurePolicy") != "Ignore",
		namespaces: readSelector(at(v, "namespaceSelector")),
		labels:     readSelector(at(v, "objectSelector")),
	}
	for _, condition := range list(v, "matchConditions") {
		w.conditions = append(w.conditions, str(condition, "expression"))
	}
	for _, rule := range list(v, "rules") {
		w.rules = append(w.rules, webhookRule{
			groups: texts(rule, "apiGroups"), versions: texts(rule, "apiVersions"),
			resources: texts(rule, "resources"), operations: texts(rule, "operations"), scope: str(rule, "scope"),
		})
	}
	return w
}

func texts(v any, field string) []string {
	var out []string
	for _, item := range list(v, field) {
		if text, ok := item.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// names reports whether a rule's list contains one of the values, or "*".
func names(list []string, values ...string) bool {
	return slices.Contains(list, "*") || slices.ContainsFunc(values, func(v string) bool { return slices.Contains(list, v) })
}

func (w webhook) matches(ix *index, r Resource) bool {
	return slices.ContainsFunc(w.rules, func(rule webhookRule) bool { return rule.matches(ix, r, w.matchesExactly) }) &&
		w.labels.matches(r.Labels) && w.watches(ix, r.Namespace)
}

func (rule webhookRule) matches(ix *index, r Resource, exact bool) bool {
	return names(rule.groups, r.Group) &&
		(!exact || names(rule.versions, r.Version)) &&
		names(rule.resources, ix.plural(r.ID), "*/*") &&
		names(rule.operations, "CREATE", "UPDATE") &&
		(rule.scope == "" || rule.scope == "*" || (rule.scope == "Namespaced") == (r.Namespace != ""))
}

// watches reports whether a webhook's namespaceSelector matches a namespace. Of
// a Namespace that is not in the stream only the name is known; it is assumed
// to have the other required labels.
func (w webhook) watches(ix *index, namespace string) bool {
	if namespace == "" || w.namespaces.empty() {
		return true
	}
	labels := map[string]string{namespaceNameLabel: namespace}
	i, ok := ix.byID[object.ID{Kind: "Namespace", Name: namespace}]
	if !ok {
		return w.namespaces.about(namespaceNameLabel).matches(labels)
	}
	for key, value := range ix.resources[i].Labels {
		labels[key] = value
	}
	labels[namespaceNameLabel] = namespace
	return w.namespaces.matches(labels)
}

// namespaceNameLabel is a label that the API server sets on every Namespace.
const namespaceNameLabel = "kubernetes.io/metadata.name"
