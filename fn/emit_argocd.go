package fn

import "strconv"

// syncWave is Argo CD's order within a phase: a whole number, lowest first.
const syncWave = "argocd.argoproj.io/sync-wave"

// argocd writes the plan's wave as the sync wave. Argo CD waits until a wave is
// healthy, and applies the kinds within one in an order of its own; it knows no
// layer that need only be applied.
func (e *emitter) argocd(i int) map[string]string {
	wave := e.layers[i]
	if a := e.needs.arrangement; a != nil {
		wave = a.steps[i].Wave
	}
	return map[string]string{syncWave: strconv.Itoa(wave)}
}
