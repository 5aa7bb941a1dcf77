package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// A release is a version of Kubernetes that clusters can run, and how it is built.
type release struct {
	name     string   // of --kubernetes
	version  string   // version in the binaries; without it kubectl cannot read the server's
	mod, sum string   // names of its go.mod and go.sum among the embedded files
	packages []string // built from that module
	shared   []string // binaries of the latest release
}

const kubernetes = "k8s.io/kubernetes/cmd/"

// latest is the release for the tests. With it come etcd and kwok.
func latest() release {
	return release{name: "latest", version: "v1.36.3", mod: "go.mod", sum: "go.sum", packages: []string{
		kubernetes + apiServer, kubernetes + controllerManager, kubernetes + scheduler, kubernetes + "kubectl",
		"sigs.k8s.io/kwok/cmd/kwok", "./cmd/etcd",
	}}
}

// oldest is the oldest minor version that ordapply supports.
func oldest() release {
	return release{name: "oldest", version: "v1.34.4", mod: "oldest.mod", sum: "oldest.sum", packages: []string{
		kubernetes + apiServer, kubernetes + controllerManager, kubernetes + scheduler, kubernetes + "kubectl",
	}, shared: []string{kwok, etcd}}
}

// releaseNamed returns a release; "" is $LOCALCLUSTER_KUBERNETES, or the latest.
func releaseNamed(name string) (release, error) {
	if name == "" {
		name = os.Getenv("LOCALCLUSTER_KUBERNETES")
	}
	switch name {
	case "", "latest":
		return latest(), nil
	case "oldest":
		return oldest(), nil
	}
	return release{}, fmt.Errorf("unknown Kubernetes %q: it is latest (%s) or oldest (%s)", name, latest().version, oldest().version)
}

// releaseFlag declares --kubernetes.
func releaseFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "kubernetes", "", fmt.Sprintf("latest (%s) or oldest (%s); without it $LOCALCLUSTER_KUBERNETES, or latest", latest().version, oldest().version))
}

func (r release) buildFlags() []string {
	minor := strings.Split(r.version, ".")[1]
	return []string{"-trimpath", "-ldflags", "-s -w" +
		" -X k8s.io/component-base/version.gitVersion=" + r.version +
		" -X k8s.io/component-base/version.gitMajor=1" +
		" -X k8s.io/component-base/version.gitMinor=" + minor +
		" -X k8s.io/client-go/pkg/version.gitVersion=" + r.version}
}

// writeModule writes the module from which the release is built.
func (r release) writeModule(dir string) error {
	if err := os.CopyFS(dir, source); err != nil {
		return err
	}
	for from, to := range map[string]string{r.mod: "go.mod", r.sum: "go.sum"} {
		text, err := source.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, to), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
