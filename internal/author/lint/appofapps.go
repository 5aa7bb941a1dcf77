package lint

import (
	"fmt"
	"slices"

	"github.com/ordapply/ordapply/internal/plan/edges"
)

// appOfApps reports sync waves on Argo CD's Applications. RFC-DEPLOY-0001
// §5.4 limits waves to one application: since Argo CD 1.8 the next wave does
// not wait for the health of an Application's resources unless argocd-cm has a
// health check for Applications.
func (s stream) appOfApps() []Finding {
	waves := map[int]int{} // wave to its first Application
	var numbers []int
	for i, r := range s.Resources {
		if r.Group != "argoproj.io" || r.Kind != "Application" && r.Kind != "ApplicationSet" {
			continue
		}
		if edges.Emitted(r, "argocd") {
			continue
		}
		at, _, _ := edges.ParseArgoPlace(r)
		if _, known := waves[at.Wave]; !known {
			waves[at.Wave] = i
			numbers = append(numbers, at.Wave)
		}
	}
	if len(numbers) < 2 {
		return nil
	}
	slices.Sort(numbers)
	low, high := numbers[0], numbers[len(numbers)-1]
	return []Finding{{Text: fmt.Sprintf(
		"sync waves order Applications, such as %s in wave %d before %s in wave %d: waves are for the resources of one Application, and since Argo CD 1.8 they wait for the health of an Application only if argocd-cm has a health check for argoproj.io_Application; order applications with dependsOn in stacks",
		s.Resources[waves[low]].ID, low, s.Resources[waves[high]].ID, high)}}
}
