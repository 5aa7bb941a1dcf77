package annotations

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/ordering"
)

// use says who writes a key.
type use uint8

const (
	authors use = iota // people, in manifests
	stamps             // sortorder, in a build
	live               // ordapply, on live objects and on what it keeps in the cluster
)

// key is one key below ordapply.dev/.
type key struct {
	name    string
	use     use
	check   func(value string) error // of the value; nil: any, or checked where it is read
	planned bool                     // making a plan checks the value too
}

// keys are all keys of annotations.
var keys = sync.OnceValue(func() []key {
	return []key{
		{name: "depends-on", check: ordering.CheckDependsOn, planned: true},
		{name: "failed-when", check: health.CheckCondition},
		{name: "lifecycle", check: oneOf("keep")},
		{name: "on-immutable", check: oneOf("recreate")},
		{name: "ordering", check: oneOf("true", "false")},
		{name: "prerequisites", check: oneOf("true", "false")},
		{name: "provides", check: ordering.CheckProvides, planned: true},
		{name: "ready-when", check: health.CheckCondition},
		{name: "timeout", check: duration, planned: true},
		{name: "wait", check: oneOf("none", "applied", "ready")},

		// The stamps are checked together, by ordering.ReadStamp.
		{name: "emitted", use: stamps},
		{name: "gate", use: stamps},
		{name: "layer", use: stamps},
		{name: "layer-needs", use: stamps},
		{name: "layer-timeout", use: stamps},
		{name: "unmatched", use: stamps, check: oneOf("true")},
		{name: "wave", use: stamps},

		{name: "about", use: live},
		{name: "applied", use: live},
		{name: "contents-digest", use: live},
		{name: "contents-revision", use: live},
		{name: "home", use: live},
		{name: "hook-of", use: live},
	}
})

// labels are the keys of labels, all written by ordapply on what it keeps.
func labels() []string { return []string{"applyset", "chunk", "revision", "status"} }

// known finds a key by its name; nil for none.
func known(name string) *key {
	all := keys()
	if at := slices.IndexFunc(all, func(k key) bool { return k.name == name }); at >= 0 {
		return &all[at]
	}
	return nil
}

// The annotations of Helm's HIP-0025 that say when an object is ready.
const (
	helmSuccess = "helm.sh/readiness-success"
	helmFailure = "helm.sh/readiness-failure"
	helmTimeout = "helm.sh/readiness-timeout"
)

// foreign are keys of others whose values we read; nil for none.
func foreign(name string) *key {
	switch name {
	case helmSuccess, helmFailure:
		return &key{name: name, check: health.CheckHelmConditions}
	case helmTimeout:
		return &key{name: name, check: duration, planned: true}
	case ordering.KptDependsOnAnnotation:
		return &key{name: name, check: ordering.CheckKptDependsOn, planned: true}
	}
	return nil
}

// readinessAlone says that one of Helm's two readiness annotations does nothing
// without the other (HIP-0025).
func readinessAlone(name string, all map[string]string) (string, bool) {
	other := map[string]string{helmSuccess: helmFailure, helmFailure: helmSuccess}[name]
	if other == "" {
		return "", false
	}
	_, both := all[other]
	return fmt.Sprintf("annotation %s does nothing without %s (HIP-0025): add it", name, other), !both
}

func oneOf(values ...string) func(string) error {
	return func(value string) error {
		if slices.Contains(values, value) {
			return nil
		}
		last := len(values) - 1
		list := values[last]
		if last > 0 {
			list = strings.Join(values[:last], ", ") + " or " + list
		}
		return fmt.Errorf("%q: write %s", value, list)
	}
}

// duration is a time of more than nothing. The words are those of the applier.
func duration(value string) error {
	if d, err := time.ParseDuration(value); err != nil || d <= 0 {
		return fmt.Errorf("%q is not a duration such as 90s", value)
	}
	return nil
}
