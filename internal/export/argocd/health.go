package argocd

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/export/units"
	"github.com/ordapply/ordapply/internal/plain"
	objectpkg "github.com/ordapply/ordapply/object"
)

//go:embed kinds.txt
var kindsFile string

// applicationHealth is the health check of an Application: Argo CD has none, so that an
// Application of Applications waits for none of them. The one that its pages show takes a
// layer for healthy before it was synced, if no kind of the layer has a health check. With
// another revision in its spec, an Application has the status of the one before until
// Argo CD has compared it.
const applicationHealth = `local hs = {status = "Progressing", message = ""}
if obj.status ~= nil and obj.status.health ~= nil and obj.status.sync ~= nil then
  hs.status = obj.status.health.status
  if hs.status == "Missing" then hs.status = "Progressing" end
  local compared = obj.status.sync.comparedTo
  local revision = compared ~= nil and compared.source ~= nil and compared.source.targetRevision
  if hs.status == "Healthy" and (obj.status.sync.status ~= "Synced" or revision ~= obj.spec.source.targetRevision) then hs.status = "Progressing" end
end
return hs
`

// addHealth adds the health checks that Argo CD needs and does not have, as a part of the
// ConfigMap argocd-cm.
func (e *exporter) addHealth() error {
	data := object{}
	if e.options.Form == AppOfApps {
		data["resource.customizations.health.argoproj.io_Application"] = applicationHealth
	}
	for _, kind := range e.kinds() {
		checks := e.checksOf(kind)
		if len(checks) == 0 {
			continue
		}
		script, err := LuaScript(checks)
		if err != nil {
			return err // checksOf tried each
		}
		key := strings.TrimPrefix(kind.Group+"_", "_") + kind.Kind
		data["resource.customizations.health."+key] = script
		if LuaNeedsLibraries(script) {
			data["resource.customizations.useOpenLibs."+key] = "true"
		}
	}
	if len(data) == 0 {
		return nil
	}
	return e.tree.AddObjects("argocd/argocd-cm.yaml", written+"health checks that the order needs. Merge them into the ConfigMap argocd-cm.", object{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": object{"name": "argocd-cm", "namespace": e.options.Namespace, "labels": object{"app.kubernetes.io/part-of": "argocd"}},
		"data":     data,
	})
}

// kinds returns the kinds that anything waits for, sorted.
func (e *exporter) kinds() []schema.GroupKind {
	kinds := map[schema.GroupKind]bool{}
	for u := range e.units {
		for _, i := range e.waited(u) {
			kinds[e.Object(i).GroupVersionKind().GroupKind()] = true
		}
	}
	return slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
}

// checksOf returns the checks of a kind that Argo CD lacks; checks of single objects come
// first.
func (e *exporter) checksOf(kind schema.GroupKind) []LuaCheck {
	var named, general []LuaCheck
	for u := range e.units {
		for _, step := range e.waited(u) {
			obj := e.Object(step)
			if obj.GroupVersionKind().GroupKind() != kind {
				continue
			}
			c, ok := e.conditions(u, step)
			if !ok {
				continue
			}
			check := LuaCheck{Ready: c.Ready, Failed: c.Failed}
			if _, err := LuaScript([]LuaCheck{check}); err != nil {
				e.lose(step, fmt.Sprintf("is not judged by %s: %v", c.Rule, err))
				continue
			}
			if strings.HasPrefix(c.Rule, "annotation ") {
				check.Namespace, check.Name = obj.GetNamespace(), obj.GetName()
				named = append(named, check)
			} else {
				general = []LuaCheck{check}
			}
		}
	}
	return slices.Concat(named, general)
}

// conditions returns the conditions of a step, unless Argo CD has its own.
func (e *exporter) conditions(u, step int) (health.Conditions, bool) {
	obj := e.Object(step)
	kind := obj.GroupVersionKind().GroupKind()
	c, ok := e.Assessor.Conditions(obj)
	switch {
	case ok && c.Script && strings.HasPrefix(c.Rule, "annotation "):
		e.lose(step, fmt.Sprintf("is not judged by %s", c.Rule))
		return c, false
	case ok && c.Script, ok && c.BuiltIn && knows(kind):
		return c, false // Argo CD's own
	case ok:
		return c, true
	case objectpkg.IsNative(kind.Group):
		c.Ready = units.NativeCondition(obj)
		known := kind.String() == "Service" || kind.Kind == "APIService"
		return c, c.Ready != "" && !known
	case knows(kind), !e.isFollowed(u), e.HasNoStatus(obj.GroupVersionKind()):
		return c, false
	}
	e.tree.Remarks = append(e.tree.Remarks, units.AssumedRemark(kind.String()))
	return units.AnySign(), true
}

// knows reports whether Argo CD has a health check of a kind.
func knows(kind schema.GroupKind) bool {
	if kind.Group == "argoproj.io" && kind.Kind == "Workflow" {
		return true
	}
	for line := range strings.Lines(kindsFile) {
		if ok, err := path.Match(strings.TrimSpace(line), kind.Group+"/"+kind.Kind); ok && err == nil {
			return true
		}
	}
	return false
}

// remark lists how Argo CD differs from ordapply.
func (e *exporter) remark() {
	timeouts := false
	for _, unit := range e.units {
		timeouts = timeouts || unit.Timeout > 0
	}
	for i, s := range e.Plan.Steps {
		unit := &e.units[e.of[i]]
		if e.waves() && !e.moved[i] && !slices.Contains(unit.Checks, i) && !e.IsInstant(i) && units.IsFollowed(e.units, e.of[i]) {
			e.lose(i, "is waited for until it is ready, where the order asks only that it is applied")
		}
		if s.ID.GroupKind() == "Ingress.networking.k8s.io" && e.isFollowed(e.of[i]) {
			e.tree.Remarks = append(e.tree.Remarks, plain.Sprintf("%s: Argo CD waits until it has an address", s.ID))
		}
	}
	if timeouts {
		e.tree.Remarks = append(e.tree.Remarks, "Argo CD waits without a limit: timeouts of layers are not kept")
	}
	if e.options.Form == AppOfApps {
		e.tree.Remarks = append(e.tree.Remarks, "name a tag or a commit with --source-ref, another for each revision: Applications that follow a branch sync a new commit all at once")
	}
	if e.options.Form == ApplicationSet {
		e.tree.Remarks = append(e.tree.Remarks, "the rolling sync keeps the order of the first revision; of a later one Argo CD may sync a layer before it has compared an earlier one, so use --form="+OneApplication+" or "+AppOfApps+" where that matters")
	}
	e.tree.Remarks = append(e.tree.Remarks, "Argo CD never deletes CustomResourceDefinitions with their Application")
	e.tree.RemarkSecrets(e.Stream)
}
