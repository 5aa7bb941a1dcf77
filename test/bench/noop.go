package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/ordapply/ordapply/test/testcluster"
)

// noOp measures applying 1,000 unchanged ConfigMaps again as an apply set,
// against kapp with an app of the same size.
func noOp(b *bench) error {
	cluster, err := b.cluster("cluster", "--light")
	if err != nil {
		return err
	}
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
		return apply(cluster, filepath.Join(b.dir, "ours.yaml"), "--applyset", "bench", "-n", "ours", "--prune")
	}
	theirs := func(int) (time.Duration, error) {
		return timed(exec.Command(kapp, "deploy", "--kubeconfig", cluster.Kubeconfig, "-a", "bench", "-n", "kapp", "-f", filepath.Join(b.dir, "kapp.yaml"), "-y"))
	}
	for _, first := range []side{ours, theirs} {
		if _, err := first(0); err != nil {
			return err
		}
	}
	return b.compare("1,000 unchanged ConfigMaps against kapp", 1.0/3, ours, theirs)
}
