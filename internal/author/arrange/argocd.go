package arrange

import (
	"strconv"

	"github.com/ordapply/ordapply/internal/plan/stamp"
)

// argocd emits the plan's wave as sync wave. Argo CD waits until a wave is
// healthy and orders the kinds within a wave itself; it has no equivalent of
// gate Applied.
func (e *Emitter) argocd(i int) map[string]string {
	wave := e.layers[i]
	if plan := e.plan; plan != nil {
		wave = plan.Steps[i].Wave
	}
	return map[string]string{stamp.SyncWave: strconv.Itoa(wave)}
}
