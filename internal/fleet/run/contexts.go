package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/fleet"
	"github.com/ordapply/ordapply/internal/nearest"
)

// checkKubeconfig rejects a kubeconfig that the file names, without the flag, and one that
// starts a program, always: a Fleet may come from a pull request, and the program would have
// the credentials of this process in reach.
func (r *runner) checkKubeconfig(ctx context.Context, c fleet.Cluster) error {
	if c.Kubeconfig == "" {
		return nil
	}
	if !r.options.Kubeconfigs {
		return fmt.Errorf("%s.kubeconfig: %s is not used, because a kubeconfig chooses servers and starts programs: add the context %s to the kubeconfig of the command, or use the kubeconfigs of the Fleet with --fleet-kubeconfigs", c.Field, c.Kubeconfig, c.Context)
	}
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig = &c.Kubeconfig
	login, err := connect.ProgramOf(ctx, flags)
	if err != nil {
		return fmt.Errorf("%s: cluster %s: read the kubeconfig: %w", c.Field, c.Name, err)
	}
	if login != nil {
		return fmt.Errorf("%s.kubeconfig: user %s of %s logs in with a program (%s), and no kubeconfig of a Fleet may start one: add the context %s to the kubeconfig of the command", c.Field, login.User, c.Kubeconfig, login.Field, c.Context)
	}
	return nil
}

// checkContexts requires every context of a fleet to be in its kubeconfig, and no two
// clusters to which a command writes to be the same namespace of one API server.
func (r *runner) checkContexts(ctx context.Context, clusters *fleet.Fleet) error {
	files := map[string]map[string]connect.Place{}
	places := map[connect.Place]string{}
	var errs []error
	for _, c := range clusters.Clusters() {
		if err := r.checkKubeconfig(ctx, c); err != nil {
			errs = append(errs, err)
			continue
		}
		file := cmp.Or(c.Kubeconfig, *r.cluster.KubeConfig)
		contexts, known := files[file]
		if !known {
			flags := genericclioptions.NewConfigFlags(true)
			flags.KubeConfig = &file
			var err error
			if contexts, err = connect.ReadContexts(ctx, flags); err != nil {
				errs = append(errs, fmt.Errorf("%s: cluster %s: read the kubeconfig: %w", c.Field, c.Name, err))
			}
			files[file] = contexts
		}
		place, exists := contexts[c.Context]
		if !exists {
			if contexts != nil {
				errs = append(errs, fmt.Errorf("%s: the kubeconfig%s has no context %s%s", c.Field, inFile(file), c.Context, nearest.DidYouMean(c.Context, sortedKeys(contexts))))
			}
			continue
		}
		place.Namespace = cmp.Or(c.Namespace, *r.cluster.Namespace, place.Namespace)
		if other := places[place]; other != "" && r.writes {
			errs = append(errs, fmt.Errorf("%s: %s is namespace %s of the API server at %s, and so is %s: leave one of them out", c.Field, c.Name, place.Namespace, place.Server, other))
		}
		places[place] = c.Name
	}
	return errors.Join(errs...)
}

func inFile(kubeconfig string) string {
	if kubeconfig == "" {
		return ""
	}
	return " " + filepath.Clean(kubeconfig)
}
