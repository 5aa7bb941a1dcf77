package hook

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/plan/edges"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Argo CD reads its own hooks, and Helm's that have a phase of a sync. The rules are from
// Argo CD 3.2.1 (gitops-engine, pkg/sync): the hooks of a wave run at once, each sync runs
// all of them, and their policies apply at the end of the sync.

// ArgoDeleteAnnotation holds the delete policies of Argo CD, comma-separated.
const ArgoDeleteAnnotation = "argocd.argoproj.io/hook-delete-policy"

// ErrNotRun is the error of an object that is meant to be left out, such as one with the hook
// Skip. Other hooks that are left out are mistakes.
var ErrNotRun = errors.New("not run by Argo CD")

// IsArgoHook reports whether Argo CD takes a resource for a hook, or never applies it.
func IsArgoHook(annotations map[string]string) bool {
	helm, annotated := annotations[EventAnnotation]
	return edges.IsArgoHook(annotations) || annotated && helm != "crd-install"
}

// argoEvents returns the events of Argo CD's hooks by name. Its hooks of a deletion run at the
// events of Helm's.
func argoEvents() map[string]Event {
	return map[string]Event{"PreSync": PreSync, "Sync": Sync, "PostSync": PostSync, "SyncFail": SyncFail, "PreDelete": PreDelete, "PostDelete": PostDelete}
}

// helmEventsOfArgo returns the events at which Argo CD runs Helm's hooks, by Helm's names.
func helmEventsOfArgo() map[string]Event {
	return map[string]Event{
		"pre-install": PreSync, "pre-upgrade": PreSync, "post-install": PostSync, "post-upgrade": PostSync,
		"pre-delete": PreDelete, "post-delete": PostDelete, "test": Test, "test-success": Test,
	}
}

// parseArgo reads a resource with IsArgoHook. The error is for one that Argo CD never applies.
func parseArgo(r ordering.Resource) (Hook, error) {
	hook := Hook{Resource: r, Argo: true, Planned: r.ID, Weight: argoWave(r.Annotations), Policies: argoPolicies(r.Annotations)}
	names := references.SplitList(r.Annotations[edges.ArgoHook])
	if hook.Events = named(names, argoEvents()); len(hook.Events) > 0 {
		return hook, nil
	}
	if slices.Contains(names, "Skip") {
		return hook, fmt.Errorf("annotation %s: Skip: %w", edges.ArgoHook, ErrNotRun)
	}
	helm := r.Annotations[EventAnnotation]
	hook.Events = named(references.SplitList(helm), helmEventsOfArgo())
	switch {
	case len(hook.Events) > 0:
		return hook, nil
	case edges.IsArgoHook(r.Annotations):
		known := append(slices.Sorted(maps.Keys(argoEvents())), "Skip")
		text := r.Annotations[edges.ArgoHook]
		return hook, fmt.Errorf("annotation %s: %q is not a hook of Argo CD, and Argo CD never applies such an object%s: write one of %s",
			edges.ArgoHook, text, nearest.DidYouMean(text, known), strings.Join(known, ", "))
	}
	return hook, fmt.Errorf("annotation %s: %s: %w", EventAnnotation, helm, ErrNotRun)
}

// named returns the events of some names, each once, and ignores other names.
func named(names []string, events map[string]Event) []Event {
	var out []Event
	for _, name := range names {
		if event, known := events[name]; known && !slices.Contains(out, event) {
			out = append(out, event)
		}
	}
	return out
}

// argoWave returns the wave of a hook in its phase: Helm's weight where no wave is a number.
func argoWave(annotations map[string]string) int {
	if wave, err := strconv.Atoi(annotations[edges.SyncWave]); err == nil {
		return wave
	}
	return weight(annotations[WeightAnnotation])
}

// argoPolicies returns the delete policies of both tools; BeforeCreation where none is known.
func argoPolicies(annotations map[string]string) []Policy {
	policies := map[string]Policy{"BeforeHookCreation": BeforeCreation, "HookSucceeded": OnSuccess, "HookFailed": OnFailure}
	var out []Policy
	for _, name := range references.SplitList(annotations[ArgoDeleteAnnotation]) {
		if policy, known := policies[name]; known {
			out = append(out, policy)
		}
	}
	for _, name := range references.SplitList(annotations[DeleteAnnotation]) {
		if slices.Contains([]Policy{BeforeCreation, OnSuccess, OnFailure}, Policy(name)) {
			out = append(out, Policy(name))
		}
	}
	if len(out) == 0 {
		out = []Policy{BeforeCreation}
	}
	return out
}

// AreArgo reports whether Argo CD's rules run the hooks.
func (all Hooks) AreArgo() bool { return len(all) > 0 && all[0].Argo }

// Named returns the hooks with a name for each that has none, as Argo CD names it: from
// metadata.generateName, the event and the time, another one for each event.
func (all Hooks) Named(at time.Time) Hooks {
	var out Hooks
	for _, hook := range all {
		if !hook.IsUnnamed() {
			out = append(out, hook)
			continue
		}
		for _, event := range hook.Events {
			name := fmt.Sprintf("%s%s-%d", hook.Planned.Name, strings.ToLower(string(event)), at.UnixMilli())
			out = append(out, hook.withName(name, event))
		}
	}
	return out
}

// withName returns a hook of one event whose object has a name.
func (h Hook) withName(name string, event Event) Hook {
	obj := (&unstructured.Unstructured{Object: h.Object}).DeepCopy()
	obj.SetName(name)
	h.Object, h.ID.Name, h.Events = obj.Object, name, []Event{event}
	return h
}

// IsUnnamed reports whether each run gives the object of the hook another name.
func (h Hook) IsUnnamed() bool {
	manifest := &unstructured.Unstructured{Object: h.Object}
	return manifest.GetName() == "" && manifest.GetGenerateName() != ""
}

// RanAs returns the hook as the run had it that named an object so, if one of its runs may have.
func (h Hook) RanAs(id object.ID) (Hook, bool) {
	same := id
	if same.Name = h.Planned.Name; same != h.Planned || !h.IsUnnamed() {
		return h, false
	}
	for _, event := range h.Events {
		number, ok := strings.CutPrefix(id.Name, h.Planned.Name+strings.ToLower(string(event))+"-")
		if _, err := strconv.ParseInt(number, 10, 64); ok && err == nil {
			return h.withName(id.Name, event), true
		}
	}
	return h, false
}
