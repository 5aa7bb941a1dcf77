// Package architecture tests the structure of the code: which package may
// import which, what only one place may do, and that the pages about the code name
// what exists.
package architecture

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const module = "github.com/ordapply/ordapply/"

// isTest reports whether a package is for tests and measurements only: no product code
// imports it.
func isTest(pkg string) bool {
	return strings.HasPrefix(pkg, "internal/test/") || pkg == "internal/architecture" || pkg == "internal/readme"
}

// isProduct reports whether a package is part of the programs or of their libraries.
func isProduct(pkg string) bool { return !isTest(pkg) }

// forbiddenInPure returns imports that would give pure packages side effects.
func forbiddenInPure() []string {
	return []string{"net", "net/http", "os", "os/exec", "k8s.io/client-go"}
}

func TestPurePackagesHaveNoSideEffects(t *testing.T) {
	pure := []string{"object", "sortorder", "ordering", "internal/references", "internal/graph", "internal/nearest", "health", "applyset"}
	eachImport(t, func(pkg, file, path string, test bool) {
		if !slices.Contains(pure, pkg) || test {
			return
		}
		for _, no := range forbiddenInPure() {
			assert.False(t, path == no || strings.HasPrefix(path, no+"/"), "%s: package %s is pure and may not import %s", file, pkg, path)
		}
	})
}

func skipFolder(root, path string) error {
	if path == root {
		return nil
	}
	name := filepath.Base(path)
	nested, err := filepath.Glob(filepath.Join(path, "go.mod"))
	if err != nil {
		return err
	}
	if len(nested) > 0 || name == "testdata" || strings.HasPrefix(name, ".") || name == "bin" {
		return filepath.SkipDir
	}
	return nil
}
