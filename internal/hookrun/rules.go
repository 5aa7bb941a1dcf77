package hookrun

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
)

// podRules decide when the Pod of a hook is done.
var podRules = sync.OnceValue(func() *health.Rules {
	rules, err := health.ParseRules([]byte(`
apiVersion: ordapply.dev/v1alpha1
kind: HealthRules
rules:
- group: ""
  kind: Pod
  readyWhen: has(self.status.phase) && self.status.phase == "Succeeded"
  failedWhen: has(self.status.phase) && self.status.phase == "Failed"
`))
	if err != nil {
		panic(err) // a test reads them
	}
	return rules
})

// assessor judges hooks as Helm does: a Pod has succeeded, and is not done when it
// is ready. A Job is judged as any other.
func assessor() *health.Assessor {
	pods := podRules()
	return &health.Assessor{RulesOf: func(obj *unstructured.Unstructured) *health.Rules {
		if obj.GetKind() == "Pod" && obj.GetAPIVersion() == "v1" {
			return pods
		}
		return nil
	}}
}
