package flux

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/celcondition"
	"github.com/ordapply/ordapply/internal/export"
	own "github.com/ordapply/ordapply/object"
)

// Flux judges by the conditions of a kind (spec.healthCheckExprs) before it judges by
// kstatus, which calls current whatever has no status.

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
			named = append(named, fmt.Sprintf("metadata.name == %s && metadata.?namespace.orValue(\"\") == %s ? (%s)", strconv.Quote(obj.GetName()), strconv.Quote(obj.GetNamespace()), x["current"]))
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
	e.tree.AddLost(e.Stream, []export.Lost{{Step: step, Detail: detail}})
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
		if err := celcondition.CheckForFlux(source); err != nil {
			return nil, err
		}
	}
	flat, err := celcondition.WithoutSelf(current)
	if err != nil {
		return nil, err
	}
	x["current"] = flat
	if c.Failed == "" {
		return x, nil
	}
	x["failed"], err = celcondition.Guarded(c.Failed)
	return x, err
}

// withoutRule returns the conditions of a kind without a rule: native ones that kstatus
// judges too early, and custom resources that others wait for.
func (e *exporter) withoutRule(u int, kind schema.GroupVersionKind, steps []int) object {
	for _, step := range steps {
		if current := native(kind, e.Object(step)); current != "" {
			return object{"current": current}
		}
	}
	if own.IsNative(kind.Group) || !e.followed(u) || e.hasNoStatus(kind) {
		return object{}
	}
	e.assumed = append(e.assumed, kind.GroupKind().String())
	return object{"current": anyGoodSign, "failed": anyBadSign}
}

// native returns the condition of a native kind if kstatus takes the object for ready
// before it is; "" for others.
func native(kind schema.GroupVersionKind, obj *unstructured.Unstructured) string {
	switch kind.GroupKind().String() {
	case "APIService.apiregistration.k8s.io":
		return `status.conditions.exists(c, c.type == "Available" && c.status == "True")`
	case "Service":
		if balancer, _, _ := unstructured.NestedString(obj.Object, "spec", "type"); balancer == "LoadBalancer" {
			return `spec.?type.orValue("") != "LoadBalancer" || has(status.loadBalancer.ingress) && size(status.loadBalancer.ingress) > 0`
		}
	case "Secret":
		if kind, _, _ := unstructured.NestedString(obj.Object, "type"); kind == "kubernetes.io/service-account-token" {
			return `type != "kubernetes.io/service-account-token" || has(data.token)`
		}
	case "ReplicationController":
		return `status.?readyReplicas.orValue(0) >= spec.?replicas.orValue(1)`
	case "MutatingWebhookConfiguration.admissionregistration.k8s.io", "ValidatingWebhookConfiguration.admissionregistration.k8s.io":
		if hooks, _ := obj.Object["webhooks"].([]any); len(hooks) > 0 {
			return `webhooks.all(w, !has(w.clientConfig.service) || has(w.clientConfig.caBundle) && w.clientConfig.caBundle != "")`
		}
	}
	return ""
}

// What a status says of a kind that no rule knows, in the words that most controllers
// use.
const (
	anyGoodSign = `has(status.conditions) && status.conditions.exists(c, c.type.lowerAscii() in ["ready", "available", "healthy", "succeeded", "complete", "completed", "established", "programmed"] && c.status == "True")` +
		` || has(status.phase) && status.phase.lowerAscii() in ["ready", "running", "active", "up", "bound", "succeeded", "complete", "completed", "healthy", "available"]` +
		` || has(status.state) && status.state.lowerAscii() in ["ready", "running", "active", "up", "succeeded", "complete", "completed", "healthy", "available"]` +
		` || has(status.ready) && status.ready == true`
	anyBadSign = `has(status.conditions) && status.conditions.exists(c, c.type.lowerAscii() in ["failed", "stalled"] && c.status == "True")` +
		` || has(status.phase) && status.phase.lowerAscii() in ["failed", "error", "broken"]`
)

// hasNoStatus reports whether the stream has the CRD of a kind, and the CRD defines no
// status: nothing can say then whether an object is ready.
func (e *exporter) hasNoStatus(kind schema.GroupVersionKind) bool {
	for i, s := range e.Plan.Steps {
		if !s.ID.IsCRD() {
			continue
		}
		spec, _ := e.Object(i).Object["spec"].(map[string]any)
		group, _, _ := unstructured.NestedString(spec, "group")
		name, _, _ := unstructured.NestedString(spec, "names", "kind")
		if group != kind.Group || name != kind.Kind {
			continue
		}
		versions, _, _ := unstructured.NestedSlice(spec, "versions")
		return !slices.ContainsFunc(versions, func(v any) bool {
			version, _ := v.(map[string]any)
			_, subresource, _ := unstructured.NestedMap(version, "subresources", "status")
			_, field, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema", "properties", "status")
			return version["name"] == kind.Version && (subresource || field)
		})
	}
	return false
}
