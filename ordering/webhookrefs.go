package ordering

import (
	"slices"

	"github.com/ordapply/ordapply/object"
)

func isWebhookConfiguration(id object.ID) bool {
	return id.Group == "admissionregistration.k8s.io" &&
		(id.Kind == "MutatingWebhookConfiguration" || id.Kind == "ValidatingWebhookConfiguration")
}

// service: a webhook configuration or an APIService is of use when the
// workload behind its Service serves.
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
	labels := stringMap(at(refs.resources[service].Object, "spec", "selector"))
	if len(labels) == 0 {
		return
	}
	for _, workload := range refs.selected(id.Namespace, selector{labels: labels}) {
		refs.edge(workload, Ready, required, "backend", where+" is served by")
	}
}

// intercepted: a webhook that defaults or checks a custom resource is there
// before it.
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

// webhook is one webhook of a configuration of the stream, served from within
// the cluster.
type webhook struct {
	at                 int
	exact              bool // other versions of a kind are not its business
	rules              []webhookRule
	namespaces, labels selector
}

type webhookRule struct {
	groups, versions, resources, operations []string
	scope                                   string
}

// addWebhooks reads the webhooks of a configuration.
func (ix *index) addWebhooks(i int, r Resource) {
	if isWebhookConfiguration(r.ID) {
		for _, w := range list(r.Object, "webhooks") {
			ix.webhooks = append(ix.webhooks, readWebhook(i, w))
		}
	}
}

func readWebhook(configuration int, v any) webhook {
	w := webhook{
		at: configuration, exact: str(v, "matchPolicy") == "Exact",
		namespaces: readSelector(at(v, "namespaceSelector")),
		labels:     readSelector(at(v, "objectSelector")),
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

func (w webhook) matches(ix *index, r Resource) bool {
	return slices.ContainsFunc(w.rules, func(rule webhookRule) bool { return rule.matches(ix, r, w.exact) }) &&
		w.labels.matches(r.Labels) && w.watches(ix, r.Namespace)
}

func (rule webhookRule) matches(ix *index, r Resource, exact bool) bool {
	has := func(list []string, values ...string) bool {
		return slices.ContainsFunc(append(values, "*"), func(v string) bool { return slices.Contains(list, v) })
	}
	return has(rule.groups, r.Group) &&
		(!exact || has(rule.versions, r.Version)) &&
		has(rule.resources, ix.plural(r.ID), "*/*") &&
		has(rule.operations, "CREATE", "UPDATE") &&
		(rule.scope == "" || rule.scope == "*" || (rule.scope == "Namespaced") == (r.Namespace != ""))
}

// watches tells whether a webhook looks at a namespace. The labels of one that
// the stream does not hold are not known; then it is taken to.
func (w webhook) watches(ix *index, namespace string) bool {
	if namespace == "" || w.namespaces.empty() {
		return true
	}
	labels := map[string]string{"kubernetes.io/metadata.name": namespace}
	i, ok := ix.byID[object.ID{Kind: "Namespace", Name: namespace}]
	if !ok {
		return true
	}
	for key, value := range ix.resources[i].Labels {
		labels[key] = value
	}
	return w.namespaces.matches(labels)
}

// certifiedSecret is the Secret that a cert-manager Certificate fills.
func certifiedSecret(r Resource) (object.ID, bool) {
	name := str(r.Object, "spec", "secretName")
	if r.Group != "cert-manager.io" || r.Kind != "Certificate" || name == "" {
		return object.ID{}, false
	}
	return object.ID{Kind: "Secret", Namespace: r.Namespace, Name: name}, true
}
