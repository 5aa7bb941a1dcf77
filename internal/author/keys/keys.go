package keys

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/fields"
	"github.com/ordapply/ordapply/internal/plan/edges"
	"github.com/ordapply/ordapply/internal/plan/references"
)

// use is a key's writer.
type use uint8

const (
	authors use = iota // users, in manifests
	stamps             // sortorder, in a build
	live               // ordapply, on live objects and on objects that it stores in the cluster
)

// Reporter is another check that reports a value's error; a caller need not.
type Reporter uint8

// The reporters.
const (
	None   Reporter = iota // nothing else
	Stream                 // apply.NewStream, of every input
	Plan                   // planner.Build, of the resources of the plan
)

// key is a key with the prefix ordapply.dev/.
type key struct {
	name  string
	use   use
	check func(value string) error // nil if any value is valid, or if the value is checked where it is read
	also  Reporter                 // another check of the value
	// onHook explains the rule for a Helm hook, on which the key does nothing.
	onHook string
}

// lifecycle keeps a resource from deletion.
const lifecycle = "lifecycle"

// byWeight is the order of hooks.
const byWeight = "hooks run in the order of helm.sh/hook-weight"

// keys returns the keys of all annotations.
var keys = sync.OnceValue(func() []key {
	return []key{
		{name: "depends-on", check: edges.CheckDependsOn, also: Plan, onHook: byWeight},
		{name: "failed-when", check: health.CheckCondition},
		{name: "ignore-fields", check: fields.Check, onHook: "the object of a hook is deleted before the next run, and created again"},
		{name: lifecycle, check: oneOf("keep"), onHook: "helm.sh/hook-delete-policy determines when it is deleted"},
		{name: "on-immutable", check: oneOf("recreate")},
		{name: "ordering", check: oneOf("true", "false")},
		{name: "prerequisites", check: oneOf("true", "false")},
		{name: "provides", check: references.CheckProvides, also: Plan, onHook: byWeight},
		{name: "ready-when", check: health.CheckCondition},
		{name: "timeout", check: duration, also: Stream},
		{name: "wait", check: oneOf("none", "applied", "ready"), onHook: "the run waits until Jobs and Pods end, and until other kinds are applied"},

		// Stamps are validated together by stamp.Read.
		{name: "emitted", use: stamps},
		{name: "gate", use: stamps},
		{name: "layer", use: stamps},
		{name: "layer-needs", use: stamps},
		{name: "layer-timeout", use: stamps},
		{name: "unmatched", use: stamps, check: oneOf("true", "placed")},
		{name: "wave", use: stamps},

		{name: "about", use: live},
		{name: "applied", use: live},
		{name: "contents-digest", use: live},
		{name: "contents-revision", use: live},
		{name: "former-members", use: live},
		{name: "home", use: live},
		{name: "hook-of", use: live},
		{name: "record", use: live},
		{name: "revisions", use: live},
		{name: "taken-from", use: live},
		{name: "times", use: live},
		{name: "values", use: live},
	}
})

// labels returns the keys of all labels. ordapply sets them on objects that it stores, and
// on Argo CD's Applications of a fleet.
func labels() []string {
	return []string{"applyset", "chunk", "cluster", "cohort", "revision", "status", "values-of"}
}

// known returns the key with a name, or nil.
func known(name string) *key {
	all := keys()
	if at := slices.IndexFunc(all, func(k key) bool { return k.name == name }); at >= 0 {
		return &all[at]
	}
	return nil
}

// Annotations of Helm's HIP-0025 about readiness.
const (
	helmSuccess = "helm.sh/readiness-success"
	helmFailure = "helm.sh/readiness-failure"
	helmTimeout = "helm.sh/readiness-timeout"
)

// foreign returns a key of another tool whose value we read, or nil.
func foreign(name string) *key {
	switch name {
	case helmSuccess:
		return &key{name: name, check: health.CheckHelmSuccess}
	case helmFailure:
		return &key{name: name, check: health.CheckHelmFailure}
	case helmTimeout:
		return &key{name: name, check: duration, also: Stream}
	case edges.KptDependsOnAnnotation:
		return &key{name: name, check: edges.CheckKptDependsOn, also: Plan, onHook: byWeight}
	}
	return nil
}

// readinessAlone returns a message if one of Helm's two readiness annotations
// is set without the other (HIP-0025).
func readinessAlone(name string, all map[string]string) (string, bool) {
	other := map[string]string{helmSuccess: helmFailure, helmFailure: helmSuccess}[name]
	if other == "" {
		return "", false
	}
	_, both := all[other]
	return fmt.Sprintf("annotation %s has no effect without %s (HIP-0025): add it", name, other), !both
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

// duration validates a positive duration, with the applier's error message.
func duration(value string) error {
	if d, err := time.ParseDuration(value); err != nil || d <= 0 {
		return fmt.Errorf("%q is not a duration such as 90s", value)
	}
	return nil
}
