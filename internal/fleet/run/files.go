package run

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/fleet"
	"github.com/ordapply/ordapply/operation"
	"github.com/ordapply/ordapply/operation/option"
)

// fileOf returns the file of a cluster for one of the command: run.eu-1.html for run.html.
// Names of contexts may be paths, such as the ARN of an EKS cluster.
func fileOf(name, cluster string) string {
	ext := filepath.Ext(name)
	return strings.TrimSuffix(name, ext) + "." + strings.NewReplacer("/", "_", `\`, "_", ":", "_").Replace(cluster) + ext
}

// checkFiles rejects files that the runs could not write, before any cluster is written to.
func checkFiles(view option.View, f *fleet.Fleet) error {
	var errs []error
	for _, flag := range []struct{ name, file string }{{"report", view.Report}, {"metrics-file", view.MetricsFile}} {
		if flag.file == "" {
			continue
		}
		of := map[string]string{}
		var wrong error // the same for most clusters
		for _, c := range f.Clusters() {
			file := fileOf(flag.file, c.Name)
			if other := of[file]; other != "" {
				errs = append(errs, usage.Errorf("--%s: %s would be the file of both %s and %s: give one of them another name", flag.name, file, other, c.Name))
			}
			of[file] = c.Name
			if err := files.CheckWritable(file); err != nil && wrong == nil {
				wrong = usage.Wrap(fmt.Errorf("--%s=%s: %w", flag.name, file, err))
			}
		}
		errs = append(errs, wrong)
	}
	return errors.Join(errs...)
}

// checkGates rejects a gate that could not be observed.
func checkGates(op operation.Apply, f *fleet.Fleet) error {
	var errs []error
	for i, cohort := range f.Cohorts {
		switch {
		case cohort.Gate == 0:
		case op.Set == "":
			errs = append(errs, usage.Errorf("cohorts[%d].gate: whether the clusters of %s stay ready is read from the members of an apply set: name one with --applyset, or leave out the gate", i, cohort.Name))
		case !op.Wait:
			errs = append(errs, usage.Errorf("cohorts[%d].gate: the clusters of %s must be ready before they can stay ready: leave out --wait=false, or the gate", i, cohort.Name))
		}
	}
	return errors.Join(errs...)
}
