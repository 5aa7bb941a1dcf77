package architecture

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// promised are the packages whose exported names docs/library.md promises to keep.
func promised() []string {
	return []string{"apply", "fn", "health", "object", "ordering", "ordering/planner", "sortorder"}
}

// isPublic reports whether programs outside the module may import a package.
func isPublic(pkg string) bool {
	return isLibrary(pkg) && pkg != "." && !slices.Contains(strings.Split(pkg, "/"), "internal")
}

// publicPackages loads the public packages of the module with their types, once for all tests.
var publicPackages = sync.OnceValues(func() ([]*packages.Package, error) {
	all, err := goSources()
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, s := range all {
		if isPublic(s.pkg) {
			paths = append(paths, module+s.pkg)
		}
	}
	slices.Sort(paths)
	return packages.Load(&packages.Config{
		Dir: root(), Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax,
	}, slices.Compact(paths)...)
})

// eachPublic calls visit for every public package.
func eachPublic(t *testing.T, visit func(pkg string, loaded *packages.Package)) {
	t.Helper()
	all, err := publicPackages()
	require.NoError(t, err)
	require.Greater(t, len(all), 10)
	for _, p := range all {
		require.Empty(t, p.Errors, p.PkgPath)
		visit(strings.TrimPrefix(p.PkgPath, module), p)
	}
}

// isInternal reports whether a type or function is declared in a package that programs
// outside the module cannot import, so that go doc of the public package does not show it.
func isInternal(o types.Object) bool {
	if o.Pkg() == nil {
		return false
	}
	pkg, ours := strings.CutPrefix(o.Pkg().Path(), module)
	return ours && strings.HasPrefix(pkg, "internal/")
}

// A public name is the only name of its type: go doc shows nothing of an alias.
func TestPublicNamesAreNoAliases(t *testing.T) {
	eachPublic(t, func(pkg string, loaded *packages.Package) {
		for _, name := range loaded.Types.Scope().Names() {
			alias, is := loaded.Types.Scope().Lookup(name).(*types.TypeName)
			if !is || !alias.Exported() || !alias.IsAlias() {
				continue
			}
			for _, named := range namedIn(alias.Type()) {
				assert.False(t, isInternal(named), "%s.%s is an alias of %s: declare the type where programs can import it", pkg, name, types.TypeString(named.Type(), nil))
			}
		}
	})
}

// Programs can name every type that a promised package takes or returns, and fill its structs.
func TestPromisedPackagesNameNoInternalTypes(t *testing.T) {
	found := 0
	eachPublic(t, func(pkg string, loaded *packages.Package) {
		if !slices.Contains(promised(), pkg) {
			return
		}
		found++
		for name, typ := range exportedTypes(loaded.Types.Scope()) {
			for _, named := range namedIn(typ) {
				assert.False(t, isInternal(named), "%s.%s names %s, which programs cannot import", pkg, name, types.TypeString(named.Type(), nil))
			}
		}
	})
	require.Len(t, promised(), found)
}

// exportedTypes returns the types of the exported names of a package, and of the exported
// methods of its types, by name. That of a declared type is its underlying type.
func exportedTypes(scope *types.Scope) map[string]types.Type {
	out := map[string]types.Type{}
	for _, name := range scope.Names() {
		o := scope.Lookup(name)
		if !o.Exported() {
			continue
		}
		out[name] = o.Type()
		if named, declared := o.Type().(*types.Named); declared && !isAlias(o) && isType(o) {
			out[name] = named.Underlying()
			for method := range named.Methods() {
				if method.Exported() {
					out[name+"."+method.Name()] = method.Type()
				}
			}
		}
	}
	return out
}

func isType(o types.Object) bool {
	_, is := o.(*types.TypeName)
	return is
}

func isAlias(o types.Object) bool {
	name, is := o.(*types.TypeName)
	return is && name.IsAlias()
}

// namedIn returns the declared types that a type names where other packages see them.
func namedIn(t types.Type) []types.Object {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		named := []types.Object{t.Obj()}
		for arg := range t.TypeArgs().Types() {
			named = append(named, namedIn(arg)...)
		}
		return named
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels and maps
		named := namedIn(t.Elem())
		if m, is := t.(*types.Map); is {
			named = append(named, namedIn(m.Key())...)
		}
		return named
	case *types.Signature:
		return append(namedIn(t.Params()), namedIn(t.Results())...)
	case *types.Tuple:
		var named []types.Object
		for v := range t.Variables() {
			named = append(named, namedIn(v.Type())...)
		}
		return named
	case *types.Struct:
		var named []types.Object
		for field := range t.Fields() {
			if field.Exported() {
				named = append(named, namedIn(field.Type())...)
			}
		}
		return named
	case *types.Interface:
		var named []types.Object
		for method := range t.Methods() {
			named = append(named, namedIn(method.Type())...)
		}
		return named
	}
	return nil
}

// Every exported name of a public package has a comment.
func TestPublicNamesHaveComments(t *testing.T) {
	eachPublic(t, func(pkg string, loaded *packages.Package) {
		documented := false
		for _, file := range loaded.Syntax {
			documented = documented || file.Doc != nil
			for _, decl := range file.Decls {
				for _, name := range undocumented(decl) {
					assert.Fail(t, "no comment", "%s.%s", pkg, name)
				}
			}
		}
		assert.True(t, documented, "package %s has no comment", pkg)
	})
}

// undocumented returns the exported names of a declaration that have no comment.
func undocumented(decl ast.Decl) []string {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if receiver := receiverOf(decl); decl.Name.IsExported() && (decl.Recv == nil || ast.IsExported(receiver)) && decl.Doc == nil {
			return []string{strings.TrimPrefix(receiver+"."+decl.Name.Name, ".")}
		}
	case *ast.GenDecl:
		var names []string
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() && decl.Doc == nil && spec.Doc == nil {
					names = append(names, spec.Name.Name)
				}
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					if name.IsExported() && decl.Doc == nil && spec.Doc == nil && spec.Comment == nil {
						names = append(names, name.Name)
					}
				}
			}
		}
		return names
	}
	return nil
}

// receiverOf returns the type of a method's receiver; "" for a function.
func receiverOf(decl *ast.FuncDecl) string {
	name := ""
	if decl.Recv != nil {
		ast.Inspect(decl.Recv.List[0].Type, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && name == "" {
				name = id.Name
			}
			return true
		})
	}
	return name
}
