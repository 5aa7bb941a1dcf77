package architecture

import (
	"go/ast"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The comment of each package tells its idea and shows an example. Exported functions,
// methods of exported types, and exported types have comments.
func TestComments(t *testing.T) {
	packages := map[string]string{}
	eachFile(t, func(pkg, path string, file *ast.File) {
		if !isLibrary(pkg) {
			return
		}
		packages[pkg] += file.Doc.Text()
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Name.IsExported() && receiverIsExported(decl) {
					assert.NotEmpty(t, decl.Doc.Text(), "%s: %s has no comment", path, decl.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok && spec.Name.IsExported() {
						assert.NotEmpty(t, decl.Doc.Text()+spec.Doc.Text()+spec.Comment.Text(), "%s: type %s has no comment", path, spec.Name)
					}
				}
			}
		}
	})
	for pkg, comment := range packages {
		assert.True(t, strings.HasPrefix(comment, "Package "), "%s has no package comment", pkg)
		assert.Contains(t, comment, "\n\t", "the comment of %s shows no example", pkg)
	}
}

// receiverIsExported reports whether a function is not a method of an unexported type.
func receiverIsExported(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	id, ok := of.(*ast.Ident)
	return !ok || id.IsExported()
}
