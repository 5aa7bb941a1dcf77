// Package hook reads Helm's hooks as Helm 4 reads them: which objects of a stream are
// hooks, of which events, and in which order they run. It is pure; package hooks runs
// them. Where Argo CD's annotations define the order, it reads hooks as Argo CD does.
//
//	all, remarks := hook.Read(resources, plan.OrderSource)
//	for _, hook := range all.Of(hook.PreInstall) { … }
//
// The rules come from https://helm.sh/docs/topics/charts_hooks/ and, where that
// page and Helm 4.3.1 differ, from the program; docs/hooks.md lists them.
package hook

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// The annotations of Helm's hooks.
const (
	EventAnnotation  = "helm.sh/hook"                   // events, comma-separated
	WeightAnnotation = "helm.sh/hook-weight"            // an integer; lower weights run first
	DeleteAnnotation = "helm.sh/hook-delete-policy"     // policies, comma-separated
	LogAnnotation    = "helm.sh/hook-output-log-policy" // policies, comma-separated
)

// Event is a moment in the life of a release at which hooks run.
type Event string

// The events.
const (
	PreInstall   Event = "pre-install"   // before the first apply
	PostInstall  Event = "post-install"  // after it
	PreUpgrade   Event = "pre-upgrade"   // before any later apply
	PostUpgrade  Event = "post-upgrade"  // after it
	PreRollback  Event = "pre-rollback"  // before a rollback
	PostRollback Event = "post-rollback" // after it
	PreDelete    Event = "pre-delete"    // before the deletion
	PostDelete   Event = "post-delete"   // after it
	Test         Event = "test"          // by helm test only
	PreSync      Event = "PreSync"       // before a sync of Argo CD, which each apply is
	Sync         Event = "Sync"          // with the resources of its wave
	PostSync     Event = "PostSync"      // after a sync
	SyncFail     Event = "SyncFail"      // after one that failed
)

// Events returns all events, in the order in which a release may see them.
func Events() []Event {
	return []Event{PreInstall, PostInstall, PreUpgrade, PostUpgrade, PreRollback, PostRollback, PreSync, Sync, PostSync, SyncFail, PreDelete, PostDelete, Test}
}

// isHelms reports whether Helm has the event.
func (e Event) isHelms() bool { return !slices.Contains([]Event{PreSync, Sync, PostSync, SyncFail}, e) }

// Policy says when the object of a hook is deleted, or its logs are shown.
type Policy string

// The policies that do something. Helm keeps others and never acts on them.
const (
	BeforeCreation Policy = "before-hook-creation" // the default for deletion
	OnSuccess      Policy = "hook-succeeded"
	OnFailure      Policy = "hook-failed"
)

// Hook is one object that is run.
type Hook struct {
	ordering.Resource
	Events   []Event   // in the order of the annotation; one that is named twice runs twice
	Weight   int       // 0 if it is no integer, as in Helm; for Argo CD, the wave
	Policies []Policy  // when its object is deleted; default BeforeCreation
	Logs     []Policy  // when the logs of its Pods are shown; default never
	Argo     bool      // Argo CD's rules run it, not Helm's
	Planned  object.ID // its ID in the plan; for one without a name, its metadata.generateName
}

// IsHook reports whether Helm takes a resource for a hook, or drops it because its
// annotation names an event that does not exist.
func IsHook(annotations map[string]string) bool {
	_, annotated := annotations[EventAnnotation]
	return annotated
}

// Parse reads a resource with IsHook. The error is for one that Helm drops because
// its annotation names an unknown event: it is neither applied nor run.
func Parse(r ordering.Resource) (Hook, error) {
	hook := Hook{Resource: r, Planned: r.ID}
	for _, name := range words(r.Annotations[EventAnnotation]) {
		event := Event(name)
		if name == "test-success" {
			event = Test
		}
		if !slices.Contains(Events(), event) || !event.isHelms() {
			return hook, fmt.Errorf("annotation %s: %q is not a hook event of Helm, and Helm neither applies nor runs such an object: %s", EventAnnotation, name, remedy(name))
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
	for _, name := range words(r.Annotations[LogAnnotation]) {
		hook.Logs = append(hook.Logs, Policy(name))
	}
	return hook, nil
}

// words splits a list into its items, trimmed and in lower case.
func words(list string) []string {
	items := strings.Split(list, ",")
	for i, item := range items {
		items[i] = strings.ToLower(strings.TrimSpace(item))
	}
	return items
}

// remedy returns the advice for an event that does not exist.
func remedy(name string) string {
	switch name {
	case "crd-install":
		return "only Helm 2 had it; move the CustomResourceDefinition to the chart's crds folder"
	case "test-failure":
		return "only Helm 2 had it; write test, and make the test itself expect the failure"
	}
	var known []string
	for _, event := range Events() {
		if event.isHelms() {
			known = append(known, string(event))
		}
	}
	return "write one of " + strings.Join(known, ", ")
}

// weight parses a number, and returns 0 for text that strconv.Atoi rejects,
// such as 1.5 and " 3".
func weight(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// HasPolicy reports whether the hook has a policy.
func (h Hook) HasPolicy(policy Policy) bool { return slices.Contains(h.Policies, policy) }

// Shows reports whether the logs of the hook's Pods are shown when it ends so: only a
// Job and a Pod have any.
func (h Hook) Shows(end Policy) bool { return h.RunsOnce() && slices.Contains(h.Logs, end) }

// IsAwaited reports whether a run waits for the hook: for a Job until it is complete,
// for a Pod until it has succeeded. Helm takes all other kinds as done when they are
// applied; Argo CD waits for their health.
func (h Hook) IsAwaited() bool { return h.Argo || h.RunsOnce() }

// RunsOnce reports whether the object has to be created again to run again.
func (h Hook) RunsOnce() bool {
	kind := h.GroupKind()
	return kind == "Job.batch" || kind == "Pod"
}

// IsKept reports whether no policy deletes the object: a CustomResourceDefinition
// would take all its objects with it.
func (h Hook) IsKept() bool { return h.GroupKind() == "CustomResourceDefinition.apiextensions.k8s.io" }
