package architecture

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// shape is what can be counted of a package without its tests.
type shape struct {
	pkg          string
	lines, files int
	code         int // lines with more than a comment
	fanIn        int // packages of this module that import it
	fanOut       int // packages of this module that it imports
	calls        int // references from one file to a function of another
	back         []call
	structs      extreme // fields of the largest struct
	functions    extreme // lines of the longest function
	parameters   extreme // of the function with most
}

// extreme is the largest of something, and where it stands.
type extreme struct {
	size int
	name string
}

func (e *extreme) take(size int, name string) {
	if size > e.size {
		*e = extreme{size, name}
	}
}

// call is a reference to a function of another file of the same package.
type call struct{ from, to, name string }

// bound is what a package may have at most.
type bound struct{ lines, files, back, fields, length, parameters int }

// wholeBound is how many lines of code the module may have without tests and test support.
const wholeBound = 55_100

// common is the bound of every package without a row in exceptions.
func common() bound {
	return bound{lines: 2500, files: 25, back: 0, fields: 12, length: 53, parameters: 5}
}

// exceptions are the packages that do not keep the common bound yet, with what they may
// have until then. A number here goes down and never up; 0 stands for the common bound.
func exceptions() map[string]bound {
	return map[string]bound{
		"apply":             {fields: 18},
		"internal/declared": {fields: 15}, // Options, which programs set
		"ordering":          {fields: 13}, // Step, which programs read
		"removal":           {fields: 15},
	}
}

func boundOf(pkg string) bound {
	b, c := exceptions()[pkg], common()
	return bound{
		cmp.Or(b.lines, c.lines), cmp.Or(b.files, c.files), cmp.Or(b.back, c.back),
		cmp.Or(b.fields, c.fields), cmp.Or(b.length, c.length), cmp.Or(b.parameters, c.parameters),
	}
}

// Every package keeps its bounds. With -v the table is printed: lines and files without
// tests, packages of this module that import it and that it imports, references to
// functions of other files, and those against the best order of the files.
func TestShape(t *testing.T) {
	shapes := measure(t)
	t.Log("\n" + table(shapes))
	for _, s := range shapes {
		b := boundOf(s.pkg)
		assert.LessOrEqual(t, s.lines, b.lines, "%s: lines", s.pkg)
		assert.LessOrEqual(t, s.files, b.files, "%s: files", s.pkg)
		assert.LessOrEqual(t, len(s.back), b.back, "%s: calls against the direction: %v", s.pkg, s.back)
		assert.LessOrEqual(t, s.structs.size, b.fields, "%s: fields of %s", s.pkg, s.structs.name)
		assert.LessOrEqual(t, s.functions.size, b.length, "%s: lines of %s", s.pkg, s.functions.name)
		assert.LessOrEqual(t, s.parameters.size, b.parameters, "%s: parameters of %s", s.pkg, s.parameters.name)
	}
	whole := 0
	for _, s := range shapes {
		if !isTest(s.pkg) {
			whole += s.code
		}
	}
	assert.LessOrEqual(t, whole, wholeBound, "lines of code without tests and test support")
	for pkg := range exceptions() {
		require.True(t, slices.ContainsFunc(shapes, func(s shape) bool { return s.pkg == pkg }), "%s has an exception and does not exist", pkg)
	}
}

func table(shapes []shape) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "package\tlines\tcode\tfiles\tfan-in\tfan-out\tcalls\tback\tlargest struct\tlongest function\tmost parameters")
	var product, support shape
	for _, s := range shapes {
		sum := &product
		if isTest(s.pkg) {
			sum = &support
		}
		sum.lines, sum.code, sum.files = sum.lines+s.lines, sum.code+s.code, sum.files+s.files
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\n", s.pkg, s.lines, s.code, s.files, s.fanIn, s.fanOut, s.calls, len(s.back), s.structs, s.functions, s.parameters)
	}
	fmt.Fprintf(w, "the product\t%d\t%d\t%d\n", product.lines, product.code, product.files)
	fmt.Fprintf(w, "test support\t%d\t%d\t%d\n", support.lines, support.code, support.files)
	w.Flush()
	return out.String()
}

func (e extreme) String() string {
	if e.size == 0 {
		return "-"
	}
	return fmt.Sprintf("%d %s", e.size, e.name)
}

// measure loads the module and counts.
func measure(t *testing.T) []shape {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedModule,
		Dir:  filepath.Join("..", ".."),
	}, "./...")
	require.NoError(t, err)
	importers := map[string]int{}
	var shapes []shape
	for _, p := range loaded {
		require.Empty(t, p.Errors, p.PkgPath)
		for path := range p.Imports {
			if local, ok := strings.CutPrefix(path, module); ok {
				importers[local]++
			}
		}
		if len(p.Syntax) > 0 {
			shapes = append(shapes, shapeOf(p))
		}
	}
	for i := range shapes {
		shapes[i].fanIn = importers[shapes[i].pkg]
	}
	slices.SortFunc(shapes, func(a, b shape) int { return cmp.Or(-cmp.Compare(a.lines, b.lines), strings.Compare(a.pkg, b.pkg)) })
	return shapes
}

func shapeOf(p *packages.Package) shape {
	s := shape{pkg: strings.TrimPrefix(p.PkgPath, module), files: len(p.Syntax)}
	for path := range p.Imports {
		if strings.HasPrefix(path, module) {
			s.fanOut++
		}
	}
	for _, file := range p.Syntax {
		s.lines += p.Fset.File(file.FileStart).LineCount() - 1
		s.code += codeLines(p.Fset, file)
		ast.Inspect(file, func(n ast.Node) bool {
			s.look(p.Fset, n)
			return true
		})
	}
	between := callsBetween(p)
	s.calls, s.back = len(between), back(between)
	return s
}

// codeLines is the number of lines on which a file has more than a comment.
func codeLines(fset *token.FileSet, file *ast.File) int {
	text, err := os.ReadFile(fset.Position(file.FileStart).Filename)
	if err != nil {
		return 0
	}
	n, comment := 0, false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		comment = comment || strings.HasPrefix(line, "/*")
		if line != "" && !comment && !strings.HasPrefix(line, "//") {
			n++
		}
		comment = comment && !strings.Contains(line, "*/")
	}
	return n
}

// look counts what one node of the syntax is.
func (s *shape) look(fset *token.FileSet, n ast.Node) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		s.functions.take(fset.Position(n.End()).Line-fset.Position(n.Pos()).Line+1, n.Name.Name)
		s.parameters.take(count(n.Type.Params), n.Name.Name)
	case *ast.TypeSpec:
		if st, ok := n.Type.(*ast.StructType); ok {
			s.structs.take(count(st.Fields), n.Name.Name)
		}
	}
}

// count is the number of fields or parameters: those without a name count as one.
func count(list *ast.FieldList) int {
	n := 0
	for _, field := range list.List {
		n += max(1, len(field.Names))
	}
	return n
}

// callsBetween are the references to functions and methods of other files.
func callsBetween(p *packages.Package) []call {
	var calls []call
	name := func(pos token.Pos) string { return filepath.Base(p.Fset.Position(pos).Filename) }
	for id, used := range p.TypesInfo.Uses {
		f, ok := used.(*types.Func)
		if !ok || f.Pkg() != p.Types || !f.Pos().IsValid() {
			continue
		}
		if from, to := name(id.Pos()), name(f.Pos()); from != to {
			calls = append(calls, call{from, to, f.Name()})
		}
	}
	return calls
}

// back are the calls against the best direction that a greedy search finds: files are
// put in an order with few calls from a later file to an earlier one (Eades, Lin and
// Smyth, 1993). Without cycles between files there are none.
func back(calls []call) []call {
	place := direction(calls)
	var out []call
	for _, c := range calls {
		if place[c.from] > place[c.to] {
			out = append(out, c)
		}
	}
	return out
}

func direction(calls []call) map[string]int {
	weight := map[[2]string]int{}
	left := map[string]bool{}
	for _, c := range calls {
		weight[[2]string{c.from, c.to}]++
		left[c.from], left[c.to] = true, true
	}
	var head, tail []string
	for len(left) > 0 {
		next, sink := pick(left, weight)
		delete(left, next)
		if sink {
			tail = append(tail, next)
		} else {
			head = append(head, next)
		}
	}
	slices.Reverse(tail)
	place := map[string]int{}
	for i, file := range append(head, tail...) {
		place[file] = i
	}
	return place
}

// pick is a file that calls no other that is left, else the one that calls most
// beyond what calls it.
func pick(left map[string]bool, weight map[[2]string]int) (file string, sink bool) {
	out, in := map[string]int{}, map[string]int{}
	for pair, n := range weight {
		if left[pair[0]] && left[pair[1]] {
			out[pair[0]] += n
			in[pair[1]] += n
		}
	}
	files := slices.Sorted(maps.Keys(left))
	for _, f := range files {
		if out[f] == 0 {
			return f, true
		}
	}
	return slices.MaxFunc(files, func(a, b string) int {
		first := func(f string) int {
			if in[f] == 0 {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(out[a]-in[a], out[b]-in[b]))
	}), false
}
