package flux

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/export/units"
	"github.com/ordapply/ordapply/internal/judge/condition"
	objectpkg "github.com/ordapply/ordapply/object"
)

// Flux judges by the conditions of a kind (spec.healthCheckExprs) before it judges by
// kstatus, for which objects without a status are current.

// expressions returns the conditions of the kinds that a unit waits for.
func (e *exporter) expressions(u int) []object {
	byKind := map[schema.GroupVersionKind][]int{}
	for _, step := range e.units[u].Checks {
		kind := e.Object(step).GroupVersionKind()
		byKind[kind] = append(byKind[kind], step)
	}
	kinds := slices.SortedFunc(maps.Keys(byKind), func(a, b schema.GroupVersionKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
	})
	var out []object
	for _, kind := range kinds {
		if x, ok := e.expressionsOf(u, kind, byKind[kind]); ok {
			apiVersion, name := kind.ToAPIVersionAndKind()
			x["apiVersion"], x["kind"] = apiVersion, name
			out = append(out, x)
		}
	}
	return out
}

// expressionsOf returns the conditions for one kind; ok is false if kstatus judges it as
// ordapply does.
func (e *exporter) expressionsOf(u int, kind schema.GroupVersionKind, steps []int) (object, bool) {
	var named []string // conditions of single objects, which come first
	general := object{}
	for _, step := range steps {
		obj := e.Object(step)
		c, ok := e.Assessor.Conditions(obj)
		switch {
		case !ok:
			continue
		case c.Script:
			e.lose(step, fmt.Sprintf("is not judged by %s, which is no CEL", c.Rule))
			continue
		}
		x, err := translate(c)
		if err != nil {
			e.lose(step, fmt.Sprintf("is not judged by %s, which Flux cannot evaluate: %v", c.Rule, err))
			continue
		}
		if strings.HasPrefix(c.Rule, "annotation ") {
			// Where the stream does not have the CRD, an object with a namespace may get none.
			namespace := strconv.Quote(obj.GetNamespace())
			named = append(named, fmt.Sprintf("metadata.name == %s && metadata.?namespace.orValue(%s) == %s ? (%s)", strconv.Quote(obj.GetName()), namespace, namespace, x["current"]))
			continue
		}
		general = x
	}
	if general["current"] == nil {
		general = e.withoutRule(u, kind, steps)
	}
	if len(named) > 0 {
		rest, _ := general["current"].(string)
		general["current"] = strings.Join(append(named, cmp.Or(rest, "true")), " : ")
	}
	return general, general["current"] != nil
}

// lose records that a resource is not judged as its rule says.
func (e *exporter) lose(step int, detail string) {
	e.tree.AddLost(e.Stream, []units.Lost{{Step: step, Detail: detail}})
}

// translate returns conditions as Flux reads them. Where a field is missing, a condition
// does not hold; for Flux that is an error, which it takes as not ready yet, so that only
// failed needs a guard: it is evaluated before current.
func translate(c health.Conditions) (object, error) {
	current := cmp.Or(c.Ready, "true")
	x := object{}
	for _, source := range []string{current, c.Failed} {
		if source == "" {
			continue
		}
		if err := condition.CheckForFlux(source); err != nil {
			return nil, err
		}
	}
	flat, err := condition.WithoutSelf(current)
	if err != nil {
		return nil, err
	}
	x["current"] = flat
	if c.Failed == "" {
		return x, nil
	}
	x["failed"], err = condition.Guarded(c.Failed)
	return x, err
}

// withoutRule returns the conditions of a kind without a rule: native ones that kstatus
// judges too early, and custom resources that others wait for.
func (e *exporter) withoutRule(u int, kind schema.GroupVersionKind, steps []int) object {
	for _, step := range steps {
		if x, err := translate(health.Conditions{Ready: units.NativeCondition(e.Object(step))}); err == nil && x["current"] != "true" {
			return x
		}
	}
	if objectpkg.IsNative(kind.Group) || !units.IsFollowed(e.units, u) || e.HasNoStatus(kind) {
		return object{}
	}
	e.assumed = append(e.assumed, kind.GroupKind().String())
	x, err := translate(units.AnySign())
	if err != nil {
		panic(err) // covered by a test
	}
	return x
}
