package fn

import "strconv"

// syncWave is Argo CD's order within a phase: a whole number, lowest first.
const syncWave = "argocd.argoproj.io/sync-wave"

// argocd writes the layer's rank as the sync wave. Argo CD waits until a wave is
// healthy; it knows no layer that need only be applied.
func (e *emitter) argocd(i int) map[string]string {
	return map[string]string{syncWave: strconv.Itoa(e.waves[i])}
}
