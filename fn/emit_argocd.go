package fn

import "strconv"

// syncWave orders resources within a phase of Argo CD: an integer, lowest
// first.
const syncWave = "argocd.argoproj.io/sync-wave"

// argocd emits the plan's wave as sync wave. Argo CD waits until a wave is
// healthy and orders the kinds within a wave itself; it has no equivalent of
// gate Applied.
func (e *emitter) argocd(i int) map[string]string {
	wave := e.layers[i]
	if a := e.needs.textPlan; a != nil {
		wave = a.steps[i].Wave
	}
	return map[string]string{syncWave: strconv.Itoa(wave)}
}
