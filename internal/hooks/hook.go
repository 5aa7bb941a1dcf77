// Package hooks reads Helm's hooks as Helm 4 reads them: which objects of a
// stream are hooks, of which events, and in which order those of an event run.
// It is pure. What is done with hooks is package hookrun's.
//
//	all, remarks := hooks.Read(resources)
//	for _, hook := range all.Of(hooks.PreInstall) { … }
//
// The rules are those of https://helm.sh/docs/topics/charts_hooks/ and, where that
// page and Helm 4.3.1 differ, of the program; docs/hooks.md lists them.
package hooks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ordapply/ordapply/ordering"
)

// The annotations of Helm's hooks.
const (
	EventAnnotation  = "helm.sh/hook"
	WeightAnnotation = "helm.sh/hook-weight"
	DeleteAnnotation = "helm.sh/hook-delete-policy"
)

// Event is a moment in the life of a release at which hooks run.
type Event string

// The events.
const (
	PreInstall   Event = "pre-install"
	PostInstall  Event = "post-install"
	PreUpgrade   Event = "pre-upgrade"
	PostUpgrade  Event = "post-upgrade"
	PreRollback  Event = "pre-rollback"
	PostRollback Event = "post-rollback"
	PreDelete    Event = "pre-delete"
	PostDelete   Event = "post-delete"
	Test         Event = "test"
)

// Events are all of them, in the order in which a release may see them.
func Events() []Event {
	return []Event{PreInstall, PostInstall, PreUpgrade, PostUpgrade, PreRollback, PostRollback, PreDelete, PostDelete, Test}
}

// Policy says when the object of a hook is deleted.
type Policy string

// The policies that do something. Helm keeps others and never acts on them.
const (
	BeforeCreation Policy = "before-hook-creation"
	OnSuccess      Policy = "hook-succeeded"
	OnFailure      Policy = "hook-failed"
)

// Hook is one object that is run.
type Hook struct {
	ordering.Resource
	Events   []Event // in the order of the annotation; one that is named twice runs twice
	Weight   int
	Policies []Policy
}

// IsHook reports whether Helm takes a resource for a hook, or drops it because its
// annotation names an event that does not exist.
func IsHook(annotations map[string]string) bool {
	_, annotated := annotations[EventAnnotation]
	return annotated
}

// Parse reads a resource that IsHook. The error is for one that Helm drops: it is
// neither applied nor run.
func Parse(r ordering.Resource) (Hook, error) {
	hook := Hook{Resource: r}
	for _, name := range words(r.Annotations[EventAnnotation]) {
		event := Event(name)
		if name == "test-success" {
			event = Test
		}
		if !slices.Contains(Events(), event) {
			return hook, fmt.Errorf("annotation %s: %q is no event that Helm knows, and Helm neither applies nor runs such an object: %s", EventAnnotation, name, remedy(name))
		}
		hook.Events = append(hook.Events, event)
	}
	hook.Weight = weight(r.Annotations[WeightAnnotation])
	list, given := r.Annotations[DeleteAnnotation]
	if !given {
		list = string(BeforeCreation)
	}
	for _, name := range words(list) {
		hook.Policies = append(hook.Policies, Policy(name))
	}
	return hook, nil
}

// words are the items of a list, trimmed and in lower case.
func words(list string) []string {
	items := strings.Split(list, ",")
	for i, item := range items {
		items[i] = strings.ToLower(strings.TrimSpace(item))
	}
	return items
}

// remedy says what to write instead of an event that does not exist.
func remedy(name string) string {
	switch name {
	case "crd-install":
		return "Helm 2 had it; move the CustomResourceDefinition to the chart's folder crds"
	case "test-failure":
		return "Helm 2 had it; write test, and let the test itself expect the failure"
	}
	var known []string
	for _, event := range Events() {
		known = append(known, string(event))
	}
	return "write one of " + strings.Join(known, ", ")
}

// weight is a number, or 0 for a text that is none to Go: 1.5 and " 3" are not.
func weight(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// Has reports whether the hook has a policy.
func (h Hook) Has(policy Policy) bool { return slices.Contains(h.Policies, policy) }

// Of reports whether the hook runs at an event.
func (h Hook) Of(event Event) bool { return slices.Contains(h.Events, event) }

// Runs reports whether what the hook does takes time that is waited for: a Job until
// it is complete, a Pod until it has succeeded. All other kinds are done when they
// are applied.
func (h Hook) Runs() bool {
	kind := h.GroupKind()
	return kind == "Job.batch" || kind == "Pod"
}

// Stays reports whether no policy deletes the object: a CustomResourceDefinition
// would take all its objects with it.
func (h Hook) Stays() bool { return h.GroupKind() == "CustomResourceDefinition.apiextensions.k8s.io" }
