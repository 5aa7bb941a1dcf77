// Package architecture tests the shape of the house: who may import whom.
package architecture

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/ordapply/ordapply/"

// allowed is the import table of ARCHITECTURE.md: for each package, the
// packages of this module that it may import. Test support lives below
// internal and may be imported by tests only, unless a row names it.
func allowed() map[string][]string {
	return map[string][]string{
		"object":               {},
		"sortorder":            {"object"},
		"applyset":             {"object"},
		"ordering":             {"object", "internal/plain"},
		"health":               {"object"},
		"fn":                   {"sortorder", "ordering", "object", "internal/annotations", "internal/jsonstream", "internal/plain", "internal/yamltext"},
		"apply":                {"ordering", "health", "applyset", "object", "internal/activity"},
		"state":                {"apply", "applyset", "ordering", "object", "internal/activity", "internal/hooks", "internal/hookrun"},
		"internal/activity":    {},
		"internal/annotations": {"ordering", "health", "object"},
		"internal/hooks":       {"ordering", "object"},
		"internal/hookrun":     {"apply", "applyset", "health", "ordering", "object", "internal/hooks"},
		"internal/manifest":    {"internal/jsonstream", "internal/yamltext"},
		"internal/jsonstream":  {},
		"internal/plain":       {},
		"internal/yamltext":    {},
		"internal/outfile":     {},
		"internal/outlet":      {},
		"internal/terminal":    {},
		"internal/liveview":    {"apply", "ordering", "object", "internal/plain", "internal/terminal"},
		"internal/metrics":     {"apply", "ordering", "object"},
		"internal/events":      {"apply", "ordering", "object", "internal/plain"},
		"internal/svg":         {"ordering"},
		"internal/fielddiff":   {},
		"cmd/sortorder":        {"fn", "internal/plain", "sortorder", "ordering", "object"},
		"cmd/ordapply":         {"apply", "state", "applyset", "fn", "sortorder", "ordering", "health", "object", "internal/annotations", "internal/manifest", "internal/svg", "internal/outfile", "internal/outlet", "internal/events", "internal/metrics", "internal/plain", "internal/yamltext", "internal/terminal", "internal/liveview", "internal/fielddiff", "internal/activity", "internal/hooks", "internal/hookrun"},
	}
}

// pure packages decide and do nothing else: these imports would let them act.
func forbiddenInPure() []string {
	return []string{"net", "net/http", "os", "os/exec", "k8s.io/client-go"}
}

func TestImportsPointDown(t *testing.T) {
	table := allowed()
	pure := []string{"object", "sortorder", "ordering", "health", "applyset"}
	seen := map[string]bool{}
	eachImport(t, func(pkg, file, path string, test bool) {
		row, known := table[pkg]
		if !known {
			require.True(t, strings.HasPrefix(pkg, "internal/") || pkg == "examples", "package %s is not in the import table", pkg)
			return
		}
		seen[pkg] = true
		if local, ok := strings.CutPrefix(path, module); ok {
			fine := slices.Contains(row, local) || local == pkg || test && strings.HasPrefix(local, "internal/")
			require.True(t, fine, "%s: package %s may not import %s", file, pkg, local)
		}
		if slices.Contains(pure, pkg) && !test {
			for _, no := range forbiddenInPure() {
				require.False(t, path == no || strings.HasPrefix(path, no+"/"), "%s: package %s is pure and may not import %s", file, pkg, path)
			}
		}
	})
	require.Len(t, seen, len(table), "the table names packages that do not exist")
}

// eachImport calls visit for every import of every Go file of the module.
// localcluster and other folders with a go.mod of their own are not part of
// it.
func eachImport(t *testing.T, visit func(pkg, file, path string, test bool)) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		if entry.IsDir() {
			return skipFolder(root, path)
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		require.NoError(t, err)
		rel, err := filepath.Rel(root, path)
		require.NoError(t, err)
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			visit(filepath.ToSlash(filepath.Dir(rel)), rel, imported, strings.HasSuffix(path, "_test.go"))
		}
		return nil
	})
	require.NoError(t, err)
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
