package hooks

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/author/hook"
)

// doneRules decide when the Pod of a hook is done, and a Job that its manifest suspends: it
// has not done its work, although no other Job would be waited for.
var doneRules = sync.OnceValue(func() *health.Rules {
	rules, err := health.ParseRules([]byte(`
apiVersion: ordapply.dev/v1alpha1
kind: HealthRules
rules:
- group: ""
  kind: Pod
  readyWhen: has(self.status.phase) && self.status.phase == "Succeeded"
  failedWhen: has(self.status.phase) && self.status.phase == "Failed"
- group: batch
  kind: Job
  readyWhen: self.status.conditions.exists(c, c.type == "Complete" && c.status == "True")
  failedWhen: self.status.conditions.exists(c, c.type == "Failed" && c.status == "True")
`))
	if err != nil {
		panic(err) // a test reads them
	}
	return rules
})

// assessor judges hooks as their tool does: a Pod has succeeded, and is not done when it
// is ready, and a suspended Job is not done. A Pod that Kubernetes restarts never ends, and is
// done for Argo CD when it is ready. Argo CD judges other kinds by their health.
func (r Runner) assessor(batch []hook.Hook) *health.Assessor {
	done, out := doneRules(), &health.Assessor{}
	argo := hook.Hooks(batch).AreArgo()
	if rules := r.Applier.Health; argo && rules != nil {
		out.Rules, out.ArgoCD, out.ArgoCDFolder, out.ColumnsOf, out.Strict = rules.Rules, rules.ArgoCD, rules.ArgoCDFolder, rules.ColumnsOf, rules.Strict
	}
	out.RulesOf = func(obj *unstructured.Unstructured) *health.Rules {
		isPod := obj.GetKind() == "Pod" && obj.GetAPIVersion() == "v1"
		restart, _, _ := unstructured.NestedString(obj.Object, "spec", "restartPolicy")
		ends := !argo || restart == "Never" || restart == "OnFailure"
		if isPod && ends || obj.GroupVersionKind().Group == "batch" && health.SuspendedByManifest(obj) {
			return done
		}
		return nil
	}
	return out
}
