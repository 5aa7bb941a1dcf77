package architecture

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// isLibrary reports whether a package may only return errors and events: it is no program.
func isLibrary(pkg string) bool {
	return isProduct(pkg) && !strings.HasPrefix(pkg, "cmd/") && !strings.HasPrefix(pkg, "examples/")
}

// Libraries print nothing: output goes through the writers that a command
// passes.
func TestLibrariesPrintNothing(t *testing.T) {
	eachFile(t, func(pkg, path string, file *ast.File) {
		if !isLibrary(pkg) {
			return
		}
		require.NotContains(t, importsOf(file), "log", path)
		ast.Inspect(file, func(n ast.Node) bool {
			of, name := selected(n)
			require.False(t, of == "os" && slices.Contains([]string{"Stdout", "Stderr", "Stdin", "Exit"}, name), "%s uses os.%s", path, name)
			require.False(t, of == "fmt" && slices.Contains([]string{"Print", "Println", "Printf"}, name), "%s uses fmt.%s", path, name)
			require.False(t, of == "klog", "%s logs", path)
			if call, ok := n.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.Ident); ok {
					require.False(t, f.Name == "print" || f.Name == "println", "%s uses %s", path, f.Name)
				}
			}
			return true
		})
	})
}

// Libraries have no package state: a package variable is an error value, an
// embedded file, or a sync.OnceValue.
func TestLibrariesKeepNoPackageState(t *testing.T) {
	eachFile(t, func(pkg, path string, file *ast.File) {
		if !isLibrary(pkg) {
			return
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				require.False(t, f.Name.Name == "init" && f.Recv == nil, "%s has an init function", path)
			}
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			embedded := group.Doc != nil && slices.ContainsFunc(group.Doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
			for _, spec := range group.Specs {
				require.True(t, embedded || isFixed(spec.(*ast.ValueSpec)), "%s: package variable %s", path, spec.(*ast.ValueSpec).Names[0].Name)
			}
		}
	})
}

// isFixed reports whether a variable never changes: an interface check, an
// error, or a OnceValue.
func isFixed(spec *ast.ValueSpec) bool {
	if len(spec.Names) == 1 && spec.Names[0].Name == "_" {
		return true
	}
	return len(spec.Values) == len(spec.Names) && !slices.ContainsFunc(spec.Values, func(value ast.Expr) bool {
		if _, name := selected(value); strings.HasPrefix(name, "Err") {
			return false // an error value of another package
		}
		call, ok := value.(*ast.CallExpr)
		if !ok {
			return true
		}
		of, name := selected(call.Fun)
		return !slices.Contains([]string{"errors.New", "fmt.Errorf", "sync.OnceValue", "sync.OnceValues"}, of+"."+name)
	})
}

// Only internal/cli/files writes files that flags name. The program of
// KUBECTL_EXTERNAL_DIFF gets files in a temporary folder.
func TestOnePackageWritesFiles(t *testing.T) {
	writers := []string{"Create", "CreateTemp", "WriteFile", "OpenFile", "Rename", "Truncate", "Link", "Symlink", "Remove", "RemoveAll"}
	own := []string{"internal/cli/files/outfile.go", "internal/cli/files/below.go", "internal/cli/plan/diffprogram.go"}
	eachFile(t, func(pkg, path string, file *ast.File) {
		if !isProduct(pkg) || slices.Contains(own, path) {
			return
		}
		require.NotContains(t, importsOf(file), "io/ioutil", path)
		ast.Inspect(file, func(n ast.Node) bool {
			of, name := selected(n)
			require.False(t, of == "os" && slices.Contains(writers, name), "%s uses os.%s: write files with internal/cli/files", path, name)
			require.False(t, name == "WriteToTextfile", "%s: write files with internal/cli/files", path)
			return true
		})
	})
}

// Only internal/cli/abortable opens files that flags name: opening a FIFO blocks
// until a program writes to it, which --timeout and an interrupt must end.
// client-go and kustomize open files themselves.
func TestOnePackageOpensFiles(t *testing.T) {
	openers := []string{"Open", "OpenFile", "OpenInRoot", "OpenRoot", "ReadFile"}
	own := []string{"internal/cli/abortable/files.go", "internal/cli/files/outfile.go", "internal/cli/files/below.go", "cmd/sortorder/filter.go"}
	eachFile(t, func(pkg, path string, file *ast.File) {
		if !isProduct(pkg) || slices.Contains(own, path) {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			of, name := selected(n)
			require.False(t, (of == "os" || of == "fs") && slices.Contains(openers, name), "%s uses %s.%s: read files with abortable.ReadFile", path, of, name)
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			_, name = selected(call.Fun)
			require.False(t, name == "ToRawKubeConfigLoader" && path != "internal/cli/connect/kubeconfig.go", "%s loads the kubeconfig: use readKubeconfig", path)
			return true
		})
	})
}

// No program tunes the garbage collector: GOGC and GOMEMLIMIT do what they do in every Go
// program, and what a run needs shows in its profile.
func TestNothingTunesTheCollector(t *testing.T) {
	tuning := []string{"debug.SetGCPercent", "debug.SetMemoryLimit", "debug.FreeOSMemory", "runtime.GC"}
	eachFile(t, func(pkg, path string, file *ast.File) {
		if !isProduct(pkg) {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			of, name := selected(n)
			require.False(t, slices.Contains(tuning, of+"."+name), "%s uses %s.%s: make less garbage, or hold less", path, of, name)
			return true
		})
	})
}

// `make test` runs these packages without the race detector, since they start
// no goroutine.
func TestSequentialPackagesStartNoGoroutine(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	require.NoError(t, err)
	_, list, found := strings.Cut(string(makefile), "\nSEQUENTIAL := ")
	require.True(t, found)
	list, _, _ = strings.Cut(list, "\n")
	sequential := strings.Fields(list)
	require.NotEmpty(t, sequential)
	eachFile(t, func(pkg, path string, file *ast.File) {
		if !slices.Contains(sequential, pkg) {
			return
		}
		require.NotContains(t, importsOf(file), "sync", path)
		require.NotContains(t, importsOf(file), "sync/atomic", path)
		ast.Inspect(file, func(n ast.Node) bool {
			_, starts := n.(*ast.GoStmt)
			require.False(t, starts, "%s starts a goroutine: take %s off SEQUENTIAL in the Makefile", path, pkg)
			return true
		})
	})
}

// selected returns "os", "Stdout" for os.Stdout.
func selected(n ast.Node) (of, name string) {
	if s, ok := n.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok {
			return x.Name, s.Sel.Name
		}
		return "", s.Sel.Name
	}
	return "", ""
}

func importsOf(file *ast.File) []string {
	var paths []string
	for _, spec := range file.Imports {
		paths = append(paths, strings.Trim(spec.Path.Value, `"`))
	}
	return paths
}
