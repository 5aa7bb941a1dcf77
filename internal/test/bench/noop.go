package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/ordapply/ordapply/internal/test/testcluster"
)

// noOp measures applying 1,000 unchanged ConfigMaps again as an apply set,
// against kapp with an app of the same size.
func noOp(b *bench) error {
	cluster, err := b.cluster("cluster", "--light")
	if err != nil {
		return err
	}
	defer func() { _ = cluster.Down() }()
	kapp, err := testcluster.Find("kapp")
	if err != nil {
		return err
	}
	for _, namespace := range []string{"ours", "kapp"} {
		if out, err := cluster.TryKubectl("create", "namespace", namespace); err != nil {
			return fmt.Errorf("%s", out)
		}
		if _, err := b.file(namespace+".yaml", configMaps(1000, namespace)); err != nil {
			return err
		}
	}
	ours := func(int) (time.Duration, error) {
		bin, args, err := applyCommand(cluster, filepath.Join(b.dir, "ours.yaml"), "--applyset", "bench", "-n", "ours", "--prune")
		if err != nil {
			return 0, err
		}
		d, _, err := timed(bin, args...)
		return d, err
	}
	theirs := func(int) (time.Duration, error) {
		d, _, err := timed(kapp, "deploy", "--kubeconfig", cluster.Kubeconfig, "-a", "bench", "-n", "kapp", "-f", filepath.Join(b.dir, "kapp.yaml"), "-y")
		return d, err
	}
	for _, first := range []func(int) (time.Duration, error){ours, theirs} {
		if _, err := first(0); err != nil {
			return err
		}
	}
	p, err := alternate(b.rounds, ours, theirs)
	if err != nil {
		return err
	}
	p.report("1,000 unchanged ConfigMaps against kapp", 1.0/3)
	return nil
}
