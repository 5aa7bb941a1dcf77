package argocd

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/export/units"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	objectpkg "github.com/ordapply/ordapply/object"
)

// object is an object of Argo CD.
type object = map[string]any

// exporter exports one stream.
type exporter struct {
	*units.Stream
	options Options
	units   []units.Unit
	rounds  []int  // per unit: how many units must come before it, one after the other
	of      []int  // per step: its unit
	moved   []bool // per step: moveLate has moved it
	tree    *units.Tree
}

// waves reports whether an Application has the whole stream, in sync waves.
func (e *exporter) waves() bool { return e.options.Form == OneApplication || e.options.Fleet != nil }

// isFollowed reports whether anything waits for a unit: a later one, or another cohort.
func (e *exporter) isFollowed(u int) bool {
	return e.hasNextCohort() || units.IsFollowed(e.units, u)
}

// waited returns the steps for whose readiness anything waits with a unit. The next cohort
// waits for all.
func (e *exporter) waited(u int) []int {
	if e.hasNextCohort() {
		return e.units[u].Steps
	}
	return e.units[u].Checks
}

func (e *exporter) hasNextCohort() bool {
	return e.options.Fleet != nil && len(e.options.Fleet.Cohorts) > 1
}

// moveLate moves steps that become ready only with a later unit into it, such as a claim to
// the Pod that binds it: Argo CD waits for everything that it has synced.
func (e *exporter) moveLate(with [][]int) {
	e.of, e.moved = make([]int, len(e.Plan.Steps)), make([]bool, len(e.Plan.Steps))
	for u, unit := range e.units {
		for _, i := range unit.Steps {
			e.of[i] = u
		}
	}
	at := e.Plan.Positions()
	for i, later := range with {
		u, user := slices.Min(later), e.firstUser(i, at)
		if u == e.of[i] && e.isUnboundClaim(i) && user < len(e.units) {
			u = user
		}
		if u <= e.of[i] {
			continue
		}
		if user < u {
			e.lose(i, "is ready only when "+e.units[u].Name+" is applied, and Argo CD waits for it before")
			continue
		}
		from := &e.units[e.of[i]]
		from.Steps = slices.DeleteFunc(slices.Clone(from.Steps), func(s int) bool { return s == i })
		e.units[u].Steps = append(slices.Clone(e.units[u].Steps), i)
		slices.Sort(e.units[u].Steps)
		e.of[i], e.moved[i] = u, true
	}
}

// isUnboundClaim reports whether a step is a claim whose readiness nothing waits for,
// because its first Pod binds it.
func (e *exporter) isUnboundClaim(step int) bool {
	return e.Plan.Steps[step].ID.GroupKind() == "PersistentVolumeClaim" && !slices.Contains(e.units[e.of[step]].Checks, step)
}

// firstUser returns the first unit with a step that needs the step.
func (e *exporter) firstUser(step int, at map[objectpkg.ID]int) int {
	first := len(e.units)
	for i, s := range e.Plan.Steps {
		for _, n := range s.Needs {
			if at[n.ID] == step {
				first = min(first, e.of[i])
			}
		}
	}
	return first
}

// count sets the rounds: units that wait for none of each other share one.
func (e *exporter) count() {
	e.rounds = make([]int, len(e.units))
	for u, unit := range e.units {
		for _, before := range unit.After {
			e.rounds[u] = max(e.rounds[u], e.rounds[before]+1)
		}
	}
}

// lose records that something of the order is not kept.
func (e *exporter) lose(step int, detail string) {
	e.tree.AddLost(e.Stream, []units.Lost{{Step: step, Detail: detail}})
}

// Annotations that Argo CD reads.
const (
	syncOptions  = "argocd.argoproj.io/sync-options"
	skipDryRun   = "SkipDryRunOnMissingResource=true"
	ignoreHealth = "argocd.argoproj.io/ignore-healthcheck" // an Application is healthy without it
)

// annotations returns Argo CD's annotations for the order and for ordapply's own
// annotations.
func (e *exporter) annotations(step int) map[string]string {
	out := map[string]string{}
	obj := e.Object(step)
	given := obj.GetAnnotations()
	if e.waves() {
		out[stamp.SyncWave] = strconv.Itoa(e.rounds[e.of[step]])
	} else if !slices.Contains(e.units[e.of[step]].Checks, step) {
		out[ignoreHealth] = "true"
	}
	options := e.syncOptions(step, obj)
	// Argo CD refuses a whole sync for a kind that is not served yet, such as one that a
	// controller of an earlier wave defines.
	if e.IsOfUnknownCRD(obj) && !strings.Contains(options, skipDryRun) {
		options = strings.TrimPrefix(options+","+skipDryRun, ",")
	}
	if options != given[syncOptions] {
		out[syncOptions] = options
	}
	return out
}

// syncOptions returns the sync options of a resource: the author's, and the equivalents of
// its protection and of on-immutable. A Namespace is kept, as ordapply keeps it.
func (e *exporter) syncOptions(step int, obj *unstructured.Unstructured) string {
	options := obj.GetAnnotations()[syncOptions]
	var more []string
	for _, p := range []struct {
		from   applyset.Removal
		option string
	}{{applyset.Prune, "Prune"}, {applyset.Delete, "Delete"}} {
		if !strings.Contains(options, p.option+"=") && (e.Plan.Steps[step].ID.IsNamespace() && options == "" || applyset.Protection(obj, p.from) != "") {
			more = append(more, p.option+"=false")
		}
	}
	if options == "" && len(more) == 0 && obj.GetAnnotations()["ordapply.dev/on-immutable"] == "recreate" {
		more = []string{"Force=true", "Replace=true"}
	}
	return strings.Trim(options+","+strings.Join(more, ","), ",")
}

// addHooks adds the manifests of hooks, which Argo CD runs in its own phases.
func (e *exporter) addHooks() error {
	names := map[string]bool{}
	for _, hook := range e.Plan.Hooks {
		if !e.waves() {
			e.tree.Lost = append(e.tree.Lost, plain.Sprintf("%s is a hook (%s), and no layer has it: use --form=%s", hook.ID, hook.Event, OneApplication))
			continue
		}
		name := fmt.Sprintf("layers/hooks/%s-%s.yaml", units.Label(hook.ID.Kind), units.Label(hook.ID.Name))
		if text := e.Hooks[hook.ID]; !names[name] && text != nil {
			names[name] = true
			if err := e.tree.Add(name, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// pathOf returns the path of a folder of the tree in the repository.
func (e *exporter) pathOf(folder string) string {
	return path.Join(e.options.Path, folder)
}
