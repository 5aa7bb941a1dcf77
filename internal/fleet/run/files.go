package run

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/fleet"
)

// fileOf returns the file of a cluster for one of the command: run.eu-1.html for run.html.
// Names of contexts may be paths, such as the ARN of an EKS cluster.
func fileOf(name, cluster string) string {
	ext := filepath.Ext(name)
	return strings.TrimSuffix(name, ext) + "." + strings.NewReplacer("/", "_", `\`, "_", ":", "_").Replace(cluster) + ext
}

// checkFiles rejects files that the runs could not write, before any cluster is written to.
func checkFiles(cmd *cobra.Command, f *fleet.Fleet) error {
	var errs []error
	for _, name := range []string{"report", "metrics-file"} {
		flag := cmd.Flags().Lookup(name)
		if flag == nil || flag.Value.String() == "" {
			continue
		}
		of := map[string]string{}
		var wrong error // the same for most clusters
		for _, c := range f.Clusters() {
			file := fileOf(flag.Value.String(), c.Name)
			if other := of[file]; other != "" {
				errs = append(errs, usage.Errorf("--%s: %s would be the file of both %s and %s: give one of them another name", name, file, other, c.Name))
			}
			of[file] = c.Name
			if err := files.CheckWritable(file); err != nil && wrong == nil {
				wrong = usage.Wrap(fmt.Errorf("--%s=%s: %w", name, file, err))
			}
		}
		errs = append(errs, wrong)
	}
	return errors.Join(errs...)
}
