// Package architecture tests the structure of the code: which package may
// import which, how large a package may be, and that the pages about the code
// name what exists.
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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/ordapply/ordapply/"

// tier is a row of packages in the picture of ARCHITECTURE.md. A package imports only
// packages of later tiers.
type tier struct {
	title    string
	packages []pkgRow
}

// pkgRow is a package: what it is for, and exactly the packages of this module that
// its code imports, tests left out.
type pkgRow struct {
	path, purpose string
	uses          []string
}

// importTable is the import table of the module. The picture of ARCHITECTURE.md is
// made from it: `make golden` updates the page.
func importTable() []tier {
	return []tier{
		{title: "programs: flags, streams, exit codes", packages: []pkgRow{
			{"cmd/ordapply", "the applier, one file for each verb", []string{"internal/access", "apply", "kube", "state", "applyset", "fn", "sortorder", "ordering", "health", "object", "internal/annotations", "internal/manifest", "internal/svg", "internal/outfile", "internal/outlet", "internal/events", "internal/metrics", "internal/plain", "internal/yamltext", "internal/terminal", "internal/liveview", "internal/fielddiff", "internal/activity", "internal/hooks", "internal/hookrun", "internal/kubeerr", "internal/diagnose"}},
			{"cmd/sortorder", "the KRM function", []string{"fn", "internal/plain", "sortorder"}},
		}},
		{title: "between runs", packages: []pkgRow{
			{"state", "apply sets: members, lock, revisions, prune, deletion, rollback", []string{"internal/access", "apply", "kube", "applyset", "ordering", "object", "internal/activity", "internal/hooks", "internal/hookrun"}},
		}},
		{title: "around a run", packages: []pkgRow{
			{"internal/hookrun", "runs Helm hooks before and after a plan", []string{"internal/access", "apply", "kube", "applyset", "health", "ordering", "object", "internal/diagnose", "internal/hooks"}},
			{"internal/events", "a run as JSON lines", []string{"apply", "ordering", "object", "internal/plain"}},
			{"internal/liveview", "a run as frames for a terminal", []string{"apply", "ordering", "object", "internal/plain", "internal/terminal"}},
			{"internal/metrics", "a run as Prometheus metrics", []string{"apply", "kube", "ordering", "object"}},
		}},
		{title: "engines", packages: []pkgRow{
			{"apply", "applies and deletes on a cluster: waves, waits, retries", []string{"kube", "ordering", "health", "applyset", "object", "internal/access", "internal/activity", "internal/diagnose", "internal/kubeerr", "internal/plain", "internal/loop", "progress", "removal"}},
			{"fn", "applies a SortOrder to a ResourceList or a stream, byte for byte", []string{"sortorder", "ordering", "object", "internal/annotations", "internal/jsonstream", "internal/plain", "internal/yamltext"}},
		}},
		{title: "deletion", packages: []pkgRow{
			{"removal", "deletes live objects wave by wave", []string{"applyset", "internal/contents", "internal/diagnose", "internal/kubeerr", "internal/loop", "internal/plain", "kube", "object", "ordering", "progress"}},
		}},
		{title: "diagnosis and permissions", packages: []pkgRow{
			{"internal/access", "what a run must be allowed to do, and whether it is", []string{"kube", "ordering", "health", "object"}},
			{"internal/diagnose", "why a resource is not ready, or not deleted", []string{"kube", "health", "object", "internal/contents", "internal/kubeerr", "internal/plain", "progress"}},
		}},
		{title: "around the client", packages: []pkgRow{
			{"internal/loop", "the event loop that an apply and a deletion share", []string{"applyset", "internal/kubeerr", "kube", "object", "progress"}},
			{"internal/contents", "what only the deletion of a Namespace or a CRD would delete", []string{"kube", "object", "internal/kubeerr"}},
		}},
		{title: "client of the API server", packages: []pkgRow{
			{"kube", "requests, discovery, watches, the fence of a lock", []string{"applyset", "object", "internal/activity", "internal/kubeerr"}},
		}},
		{title: "reports", packages: []pkgRow{
			{"progress", "states, events, results and errors of a run", []string{"health", "internal/plain", "object"}},
		}},
		{title: "readers and checks", packages: []pkgRow{
			{"internal/annotations", "known ordapply.dev/ keys and their values", []string{"ordering", "health", "object"}},
			{"internal/hooks", "which objects are Helm hooks, and their order", []string{"ordering", "object"}},
			{"internal/kubeerr", "classifies errors of an API server, and says what to do", []string{"applyset", "object"}},
			{"internal/manifest", "parses streams, with the position of each object", []string{"internal/jsonstream", "internal/yamltext"}},
			{"internal/svg", "draws a plan", []string{"ordering"}},
		}},
		{title: "decisions: pure, without I/O, clock, goroutine or client", packages: []pkgRow{
			{"ordering", "stream in, plan out: edges, waves, reasons", []string{"object", "internal/plain"}},
			{"health", "live object in, verdict out", []string{"object"}},
			{"sortorder", "selectors and kinds in, layer and rank out", []string{"object"}},
			{"applyset", "ownership: member, unchanged, to be pruned (KEP-3659)", []string{"object"}},
		}},
		{title: "leaves", packages: []pkgRow{
			{"object", "ID and Meta; imports only the standard library", nil},
			{"internal/activity", "what a command is waiting for, for messages", nil},
			{"internal/fielddiff", "two objects field by field", nil},
			{"internal/jsonstream", "consecutive JSON values", nil},
			{"internal/outfile", "writes the files that flags name", nil},
			{"internal/outlet", "an asynchronous writer, which no slow reader blocks", nil},
			{"internal/plain", "prints text from elsewhere without control characters", nil},
			{"internal/terminal", "permanent lines above a frame", nil},
			{"internal/yamltext", "text of editors and shells to UTF-8", nil},
		}},
		{title: "commands for tests and measurements", packages: []pkgRow{
			{"internal/test/demo", "make demo", []string{"object", "internal/test/auditlog", "internal/test/observer", "internal/test/testcluster"}},
			{"internal/test/bench", "make bench", []string{"internal/test/auditlog", "internal/test/observer", "internal/test/testcluster"}},
			{"internal/test/bench/bare", "the baseline of make bench", nil},
			{"internal/test/firsttry", "make first-try", []string{"object", "internal/manifest", "internal/test/auditlog", "internal/test/standin", "internal/test/testcluster"}},
			{"internal/test/peers/orderbench", "make bench-ordering", []string{"apply", "ordering", "internal/test/bigstream"}},
			{"internal/test/peers/fnbench", "make bench-fn", []string{"fn"}},
			{"internal/test/peers/kyamlnoop", "a function that does nothing, on kyaml", nil},
			{"internal/test/peers/sdknoop", "the same on kpt's SDK", nil},
		}},
		{title: "tests of the whole", packages: []pkgRow{
			{"internal/architecture", "imports, sizes, this page", nil},
			{"internal/test/cases", "the cases of testdata", nil},
			{"internal/test/helmreferee", "hooks beside Helm's own", nil},
			{"internal/readme", "the commands of README and docs", nil},
		}},
		{title: "test support", packages: []pkgRow{
			{"internal/test/observer", "a watch with its own readiness rules", []string{"internal/test/auditlog"}},
			{"internal/test/recorder", "a proxy that records requests and injects faults", nil},
			{"internal/test/standin", "answers for the programs in Pods", nil},
			{"internal/test/testcluster", "a control plane for one test or many", nil},
			{"internal/test/vt", "emulates a terminal", nil},
		}},
		{title: "test support: leaves", packages: []pkgRow{
			{"internal/test/auditlog", "reads an API server's audit log", nil},
			{"internal/test/bigstream", "generates streams of any size", nil},
		}},
	}
}

// rowOf returns the row of a package, whether it is product code, and whether it is in
// the table.
func rowOf(pkg string) (row pkgRow, product, known bool) {
	for _, t := range importTable() {
		for _, row := range t.packages {
			if row.path == pkg {
				return row, !isTest(pkg), true
			}
		}
	}
	return pkgRow{}, false, false
}

// isTest reports whether a package is for tests and measurements only: no product code
// imports it.
func isTest(pkg string) bool {
	return strings.HasPrefix(pkg, "internal/test/") || pkg == "internal/architecture" || pkg == "internal/readme"
}

// isProduct reports whether a package is part of the programs.
func isProduct(pkg string) bool {
	_, product, _ := rowOf(pkg)
	return product
}

// The table is exactly what the code imports: no row, no package and no import is
// missing, and none is invented. Tests may import test support too, and tests outside the
// programs what they test.
func TestImportTable(t *testing.T) {
	imports := map[string][]string{}
	eachImport(t, func(pkg, file, path string, test bool) {
		if _, seen := imports[pkg]; !seen {
			imports[pkg] = nil
		}
		local, ok := strings.CutPrefix(path, module)
		switch {
		case !ok || local == pkg:
		case test:
			row, product, _ := rowOf(pkg)
			assert.True(t, !product || slices.Contains(row.uses, local) || strings.HasPrefix(local, "internal/"), "%s: a test of package %s may not import %s", file, pkg, local)
		case !slices.Contains(imports[pkg], local):
			imports[pkg] = append(imports[pkg], local)
		}
	})
	listed := 0
	for _, tier := range importTable() {
		for _, row := range tier.packages {
			listed++
			have, exists := imports[row.path]
			require.True(t, exists, "the table names %s, which does not exist", row.path)
			assert.ElementsMatch(t, row.uses, have, "imports of %s: change the code, or its row in importTable and run make golden", row.path)
		}
	}
	for pkg := range imports {
		_, _, known := rowOf(pkg)
		assert.True(t, known, "package %s is not in importTable: add its row, and run make golden", pkg)
	}
	require.Len(t, imports, listed, "a package is in the table twice")
}

// Imports point down the table, and product code imports no test support.
func TestImportsPointDown(t *testing.T) {
	at := map[string]int{}
	for n, tier := range importTable() {
		for _, row := range tier.packages {
			at[row.path] = n
		}
	}
	for n, tier := range importTable() {
		for _, row := range tier.packages {
			for _, used := range row.uses {
				if isTest(row.path) && isProduct(used) {
					continue
				}
				assert.Greater(t, at[used], n, "%s imports %s, which is not below it", row.path, used)
				assert.True(t, isTest(row.path) || isProduct(used), "%s imports the test support %s", row.path, used)
			}
		}
	}
}

// forbiddenInPure returns imports that would give pure packages side effects.
func forbiddenInPure() []string {
	return []string{"net", "net/http", "os", "os/exec", "k8s.io/client-go"}
}

func TestPurePackagesHaveNoSideEffects(t *testing.T) {
	pure := []string{"object", "sortorder", "ordering", "health", "applyset"}
	eachImport(t, func(pkg, file, path string, test bool) {
		if !slices.Contains(pure, pkg) || test {
			return
		}
		for _, no := range forbiddenInPure() {
			assert.False(t, path == no || strings.HasPrefix(path, no+"/"), "%s: package %s is pure and may not import %s", file, pkg, path)
		}
	})
}

// eachImport calls visit for every import of every Go file of the module.
// Folders with their own go.mod, such as localcluster, are not part of it.
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
