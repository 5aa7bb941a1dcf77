package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// source is one Go file of the module.
type source struct {
	pkg, path string // "kube", "kube/watch.go"
	test      bool
	text      string
	syntax    *ast.File
}

// goSources reads and parses every Go file of the module, once for all tests. Folders with
// their own go.mod, such as localcluster, are not part of it.
var goSources = sync.OnceValues(func() ([]source, error) {
	var all []source
	err := eachPath(func(path string) error {
		if filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root(), path))
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		all = append(all, source{filepath.ToSlash(filepath.Dir(path)), path, strings.HasSuffix(path, "_test.go"), string(text), parsed})
		return nil
	})
	return all, err
})

func root() string { return filepath.Join("..", "..") }

func sources(t *testing.T) []source {
	t.Helper()
	all, err := goSources()
	require.NoError(t, err)
	require.Greater(t, len(all), 100)
	return all
}

// eachPath calls visit for every file of the module, by its path with slashes.
func eachPath(visit func(path string) error) error {
	return filepath.WalkDir(root(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipFolder(root(), path)
		}
		rel, err := filepath.Rel(root(), path)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(rel))
	})
}

// eachFile calls visit for every Go file of the module except tests.
func eachFile(t *testing.T, visit func(pkg, path string, file *ast.File)) {
	t.Helper()
	for _, s := range sources(t) {
		if !s.test {
			visit(s.pkg, s.path, s.syntax)
		}
	}
}

// eachImport calls visit for every import of every Go file of the module.
func eachImport(t *testing.T, visit func(pkg, file, path string, test bool)) {
	t.Helper()
	for _, s := range sources(t) {
		for _, path := range importsOf(s.syntax) {
			visit(s.pkg, s.path, path, s.test)
		}
	}
}
