// Package architecture tests the walls of the code: the direction of imports between areas,
// and calls reserved for one place.
package architecture

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const module = "github.com/ordapply/ordapply/"

// areas are the folders of the product from the programs down to their common base. An area
// imports only itself and areas of later rows; areas of one row do not import each other.
func areas() [][]string {
	return [][]string{
		{"cmd", "examples"},
		{"internal/export"},
		{"internal/fleet"},
		{"operation"},
		{"internal/cli"},
		{"state"},
		{"apply"},
		{"internal/run"},
		{"internal/live", "internal/view", "fn"},
		{"apply/track"},
		{"apply/event", "internal/author"},
		{"kube", "manifest", "operation/option", "ordering/planner", "sortorder"},
		{"internal/kube", "internal/plan", "health"},
		{"applyset", "internal/judge", "internal/text", "internal/version", "ordering"},
		{"internal/fields", "internal/nearest"},
		{"object", "internal/activity", "internal/limits", "internal/plain"},
	}
}

// area returns the area of a package and its row; -1 for tests and unknown packages.
func area(pkg string) (string, int) {
	name, row := "", -1
	for n, areas := range areas() {
		for _, a := range areas {
			if (pkg == a || strings.HasPrefix(pkg, a+"/")) && len(a) > len(name) {
				name, row = a, n
			}
		}
	}
	return name, row
}

func TestImportsPointDown(t *testing.T) {
	eachImport(t, func(pkg, file, path string, test bool) {
		local, ours := strings.CutPrefix(path, module)
		if test || !ours || isTest(pkg) {
			return
		}
		from, row := area(pkg)
		to, below := area(local)
		assert.NotEqual(t, -1, row, "%s: package %s is in no area", file, pkg)
		assert.True(t, from == to || below > row, "%s: %s imports %s, which is not below it", file, pkg, local)
	})
}

// isTest reports whether a package is for tests and measurements only: no product code
// imports it.
func isTest(pkg string) bool { return strings.HasPrefix(pkg, "test/") }

// isProduct reports whether a package is part of the programs or of their libraries.
func isProduct(pkg string) bool { return !isTest(pkg) }

// forbiddenInPure returns imports that would give pure packages side effects.
func forbiddenInPure() []string {
	return []string{"net", "net/http", "os", "os/exec", "k8s.io/client-go"}
}

func TestPurePackagesHaveNoSideEffects(t *testing.T) {
	pure := []string{"object", "sortorder", "ordering", "ordering/planner", "internal/plan", "internal/nearest", "health", "applyset"}
	eachImport(t, func(pkg, file, path string, test bool) {
		if from, _ := area(pkg); test || !slices.Contains(pure, from) {
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
