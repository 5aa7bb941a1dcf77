package argocd

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ordapply/ordapply/internal/fleet"
	"github.com/ordapply/ordapply/internal/plain"
)

// Labels of the Applications of a fleet.
const (
	cohortLabel  = "ordapply.dev/cohort"
	clusterLabel = "ordapply.dev/cluster"
)

// CheckFleet reports names of a fleet that Argo CD's objects cannot have: an Application is
// named after its cluster, and has its cohort and its cluster as labels. prefix begins the
// names of the Applications.
func CheckFleet(f *fleet.Fleet, prefix string) error {
	var errs []error
	for _, cohort := range f.Cohorts {
		if faults := validation.IsValidLabelValue(cohort.Name); len(faults) > 0 {
			errs = append(errs, errors.New(plain.Sprintf("cohort %s: the Applications have its name as a label: %s", cohort.Name, strings.Join(faults, "; "))))
		}
		for _, c := range cohort.Clusters {
			faults := append(validation.IsDNS1123Subdomain(prefix+"-"+c.Name), validation.IsValidLabelValue(c.Name)...)
			if len(faults) > 0 {
				errs = append(errs, errors.New(plain.Sprintf("cluster %s: its Application is named %s-%s, and has its name as a label: rename the cluster in the file and in Argo CD: %s", c.Name, prefix, c.Name, strings.Join(faults, "; "))))
			}
		}
	}
	return errors.Join(errs...)
}

// rollout returns the elements of a list generator, one for each cluster, and the steps of a
// rolling sync, one for each cohort.
func rollout(f *fleet.Fleet) (elements, steps []object) {
	for _, cohort := range f.Cohorts {
		if len(cohort.Clusters) == 0 {
			continue
		}
		step := object{"matchExpressions": []object{{"key": cohortLabel, "operator": "In", "values": []string{cohort.Name}}}}
		if cohort.MaxParallel < len(cohort.Clusters) {
			step["maxUpdate"] = cohort.MaxParallel // Argo CD would round a percentage down
		}
		steps = append(steps, step)
		for _, c := range cohort.Clusters {
			element := object{"cluster": c.Name, "cohort": cohort.Name}
			if len(c.Labels) > 0 {
				element["labels"] = c.Labels
			}
			elements = append(elements, element)
		}
	}
	return elements, steps
}

// remarkFleet lists fleet settings that Argo CD does not keep.
func (e *exporter) remarkFleet() {
	if e.options.Fleet == nil {
		return
	}
	lose := func(format string, args ...any) { e.tree.Lost = append(e.tree.Lost, plain.Sprintf(format, args...)) }
	cohorts := e.options.Fleet.Cohorts
	for i, cohort := range cohorts {
		if cohort.Gate > 0 {
			lose("cohort %s: its gate of %s: Argo CD opens the next step as soon as the Applications are healthy", cohort.Name, cohort.Gate)
		}
		if cohort.Pause > 0 && i < len(cohorts)-1 {
			lose("cohort %s: its pause of %s: Argo CD opens the next step at once", cohort.Name, cohort.Pause)
		}
		if cohort.MaxFailures > 0 {
			lose("cohort %s: its maxFailures (%d): with one Application that is not healthy, Argo CD opens no further step", cohort.Name, cohort.MaxFailures)
		}
		if n := cohort.MaxParallel; n > 1 && n < len(cohort.Clusters) {
			e.tree.Remarks = append(e.tree.Remarks, plain.Sprintf("cohort %s: Argo CD goes on within the cohort until %d of its Applications have failed, where ordapply starts none after the first", cohort.Name, n))
		}
		for _, c := range cohort.Clusters {
			if c.Namespace != "" {
				lose("cluster %s: its namespace %s: every cluster gets the same manifests", c.Name, c.Namespace)
			}
			if c.Kubeconfig != "" {
				lose("cluster %s: its kubeconfig: Argo CD knows the cluster by its name, from a Secret", c.Name)
			}
		}
	}
	e.tree.Remarks = append(e.tree.Remarks, fmt.Sprintf("the clusters of the fleet must be registered in Argo CD under their names (%s)", plain.Count(len(e.options.Fleet.Clusters()), "cluster")))
}
