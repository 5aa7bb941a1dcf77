// Package corpora finds the real manifest streams that some tests and benchmarks
// read. They are not part of the repository: make corpora renders them from the
// repositories in sources.yaml, and ORDAPPLY_CORPORA names their folder.
//
//	make corpora CORPORA=/srv/corpora
//	ORDAPPLY_CORPORA=/srv/corpora go test ./fn
package corpora

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Variable is the environment variable that names the folder. It has no default.
const Variable = "ORDAPPLY_CORPORA"

// ErrUnset is the error of Dir when the variable is not set.
var ErrUnset = errors.New(Variable + " is not set: it names the folder of the real streams, which make corpora renders")

// Dir returns the folder, as an absolute path. It returns an error if the variable is not
// set, or names no folder.
func Dir() (string, error) {
	dir := os.Getenv(Variable)
	if dir == "" {
		return "", ErrUnset
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s=%s is not a folder", Variable, dir)
	}
	return filepath.Abs(dir)
}

// Need returns the folder, and skips a test that has none.
func Need(t testing.TB) string {
	t.Helper()
	dir, err := Dir()
	if err != nil {
		t.Skipf("%s is skipped: %v", t.Name(), err)
	}
	return dir
}

// Applied returns the names of the streams that tests and benchmarks apply to control planes,
// as test/firsttry has them.
func Applied() []string {
	return []string{
		"argo-cd", "argo-workflows", "cert-manager", "cloudnative-pg", "external-secrets", "flux", "gatekeeper", "jobset", "knative-serving",
		"kube-prometheus", "metallb", "online-boutique", "postgres-operator", "rook-ceph",
		"world/ingress-nginx-chart", "world/ingress-nginx-static", "world/kube-prometheus-stack",
	}
}
