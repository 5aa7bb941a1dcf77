package architecture

import (
	"go/ast"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Text output goes through internal/plain, so that text from a manifest or a
// cluster can neither start a line nor control the terminal. Files with other
// output, such as YAML, JSON or pictures with their own quoting, are listed
// with the reason.
func TestOnePackagePrintsTexts(t *testing.T) {
	other := map[string]string{
		"internal/cli/rbac/roleyaml.go":    "YAML, in which scalar quotes",
		"internal/view/drawing/dot.go":     "DOT, in which quoteDOT quotes",
		"internal/view/drawing/mermaid.go": "Mermaid, in which quoteMermaid quotes",
		"internal/view/drawing/svg.go":     "SVG, in which escape quotes",
		"internal/plain/plain.go":          "the package itself",
		"internal/view/terminal/screen.go": "escape sequences of a terminal, around lines without them",
	}
	eachFile(t, func(pkg, path string, file *ast.File) {
		if _, listed := other[path]; listed || !isProduct(pkg) {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			of, name := selected(call.Fun)
			if of != "fmt" || !strings.HasPrefix(name, "Fprint") {
				return true
			}
			require.True(t, name == "Fprint" && isOurs(call.Args[1]), "%s calls fmt.%s: print texts with internal/plain", path, name)
			return true
		})
	})
}

// isOurs reports whether the printed value is a constant, or lines from
// internal/plain.
func isOurs(arg ast.Expr) bool {
	switch arg := arg.(type) {
	case *ast.Ident:
		return arg.Name == "usage"
	case *ast.CallExpr:
		_, name := selected(arg.Fun)
		return name == "Lines" || name == "Explanation"
	}
	return false
}
