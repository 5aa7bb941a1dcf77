package hookrun

import (
	"sync"

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
