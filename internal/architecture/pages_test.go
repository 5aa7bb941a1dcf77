package architecture

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What ARCHITECTURE.md and CONTRIBUTING.md name exists: files, functions, types, fields,
// commands, make targets, flags, annotations and links. A name without its package, such
// as `run.start`, is declared in a file that the same item, row or paragraph names.
func TestPagesNameWhatExists(t *testing.T) {
	known := namesOfTheRepository(t)
	var all []string
	for _, page := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md"} {
		text := known.read(page)
		require.NotEmpty(t, text, page)
		for _, block := range blocksOf(text) {
			named := spans(block)
			all = append(all, named...)
			files := known.goFiles(named)
			for _, name := range named {
				assert.True(t, known.has(name, files), "%s: `%s` does not exist, or not in the files that are named with it: %s", page, name, strings.TrimSpace(block))
			}
			for _, link := range regexp.MustCompile(`\]\(([^)#\s]+)`).FindAllStringSubmatch(block, -1) {
				assert.True(t, strings.Contains(link[1], "://") || known.exists(link[1]), "%s links to %s, which does not exist", page, link[1])
			}
		}
		for _, command := range regexp.MustCompile(`(?m)^ *\$ (.*?)( +#.*)?$`).FindAllStringSubmatch(text, -1) {
			assert.True(t, known.isCommand(command[1]), "%s: `%s` cannot be run", page, command[1])
		}
	}
	for word := range words() {
		assert.Contains(t, all, word, "no page has this word")
	}
}

// blocksOf returns the paragraphs, list items and table rows of a page without its
// fenced blocks.
func blocksOf(page string) []string {
	var blocks []string
	current, fenced := "", false
	end := func() {
		if strings.TrimSpace(current) != "" {
			blocks = append(blocks, current)
		}
		current = ""
	}
	begins := regexp.MustCompile(`^\s*(\d+\. |- |\||#)`)
	for line := range strings.Lines(page) {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			end()
			fenced = !fenced
		case fenced:
		case strings.TrimSpace(line) == "":
			end()
		default:
			if begins.MatchString(line) {
				end()
			}
			current += line
		}
	}
	end()
	return blocks
}

// spans returns the texts between backticks.
func spans(block string) []string {
	var found []string
	for _, match := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(block, -1) {
		found = append(found, strings.Join(strings.Fields(match[1]), " "))
	}
	return found
}

// repository is what pages may name.
type repository struct {
	root     string
	declared map[string]map[string]bool // by file: functions, types, Type.member, constants and variables
	packages map[string][]string        // the files of packages, by the last element of their path
	source   string                     // the code of the programs
	makefile string
}

// words are what pages write as code although it is no name in the repository, with
// what they are.
func words() map[string]string {
	return map[string]string{
		"CI":               "an environment variable",
		"ORDAPPLY_CORPORA": "an environment variable",
		"cluster":          "a command of test scripts",
		"emit":             "a field of a SortOrder",
	}
}

func namesOfTheRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{root: filepath.Join("..", ".."), declared: map[string]map[string]bool{}, packages: map[string][]string{}}
	r.makefile = r.read("Makefile")
	var source strings.Builder
	for _, file := range sources(t) {
		r.declared[file.path] = declarationsOf(file.syntax)
		name := path.Base(file.pkg)
		r.packages[name] = append(r.packages[name], file.path)
		if isProduct(file.pkg) && !file.test {
			source.WriteString(file.text)
		}
	}
	r.source = source.String()
	return r
}

// declarationsOf returns what a file declares: Name, and Type.Name for methods and fields.
func declarationsOf(file *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			name := decl.Name.Name
			if decl.Recv != nil {
				name = typeName(decl.Recv.List[0].Type) + "." + name
			}
			names[name] = true
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names[name.Name] = true
					}
				case *ast.TypeSpec:
					names[spec.Name.Name] = true
					for _, member := range membersOf(spec.Type) {
						names[spec.Name.Name+"."+member] = true
					}
				}
			}
		}
	}
	return names
}

func typeName(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.Ident:
		return expr.Name
	case *ast.StarExpr:
		return typeName(expr.X)
	case *ast.IndexExpr:
		return typeName(expr.X)
	case *ast.SelectorExpr:
		return expr.Sel.Name
	}
	return ""
}

// membersOf returns the fields of a struct, or the methods of an interface.
func membersOf(expr ast.Expr) []string {
	var fields *ast.FieldList
	switch expr := expr.(type) {
	case *ast.StructType:
		fields = expr.Fields
	case *ast.InterfaceType:
		fields = expr.Methods
	default:
		return nil
	}
	var names []string
	for _, field := range fields.List {
		if len(field.Names) == 0 {
			names = append(names, typeName(field.Type))
		}
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

func (r *repository) read(file string) string {
	text, _ := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(file)))
	return string(text)
}

// exists reports whether there is a file, a folder, or one that a pattern matches.
func (r *repository) exists(pattern string) bool {
	found, err := filepath.Glob(filepath.Join(r.root, filepath.FromSlash(pattern)))
	return err == nil && len(found) > 0
}

// goFiles returns the Go files that names are or match, and those of the packages
// among them.
func (r *repository) goFiles(names []string) []string {
	var files []string
	for _, name := range names {
		for file := range r.declared {
			if matched, _ := path.Match(name, file); matched || path.Dir(file) == strings.TrimSuffix(name, "/") {
				files = append(files, file)
			}
		}
	}
	return files
}

// has reports whether a name exists; files are those where a name without its package
// may be declared.
func (r *repository) has(name string, files []string) bool {
	_, word := words()[name]
	switch {
	case word, r.isDeclared(name, files), r.isCommand(name):
		return true
	case r.isPackage(name):
		return true
	case regexp.MustCompile(`^([a-z0-9-]+\.)+[a-z0-9]+/[\w-]*$`).MatchString(name):
		return r.isAnnotation(name)
	case strings.ContainsAny(name, " `"):
		return false
	}
	return strings.ContainsAny(name, "/.") && r.exists(name)
}

// isPackage reports whether a name is the path of a package of the module.
func (r *repository) isPackage(name string) bool {
	_, _, known := rowOf(name)
	return known
}

// isDeclared reports whether Go code declares a name.
func (r *repository) isDeclared(name string, files []string) bool {
	name = strings.TrimSuffix(name, "()")
	in := func(files []string, name string) bool {
		return slices.ContainsFunc(files, func(file string) bool { return r.declared[file][name] })
	}
	if pkg, member, qualified := strings.Cut(name, "."); qualified && in(r.packages[pkg], member) {
		return true
	}
	return in(files, name)
}

// isAnnotation reports whether the programs know an annotation.
func (r *repository) isAnnotation(key string) bool {
	name, ours := strings.CutPrefix(key, "ordapply.dev/")
	return strings.Contains(r.source, `"`+key+`"`) || ours && strings.Contains(r.read("internal/annotations/keys.go"), `{name: "`+name+`"`)
}

// isCommand reports whether a text is a command or flags of this project: targets of
// make, tests, verbs and flags.
func (r *repository) isCommand(text string) bool {
	if first, rest, piped := strings.Cut(text, " | "); piped {
		return r.isCommand(first) && r.isCommand(rest)
	}
	fields := strings.Fields(text)
	for len(fields) > 0 && regexp.MustCompile(`^[A-Z_]+=`).MatchString(fields[0]) {
		fields = fields[1:]
	}
	if len(fields) == 0 {
		return false
	}
	switch first, rest := fields[0], fields[1:]; {
	case first == "make":
		return len(rest) == 0 || strings.Contains(r.makefile, "\n"+rest[0]+": ")
	case first == "go" && len(rest) > 1 && rest[0] == "test":
		return r.areTests(rest[1:])
	case first == "ordapply":
		return len(rest) == 0 || r.isVerb(rest[0]) && r.areFlags(rest)
	case first == "bin/localcluster":
		return len(rest) > 0 && strings.Contains(r.read("localcluster/README.md"), "| `"+rest[0]+" ")
	case slices.Contains([]string{"export", "jq", "kubectl", "kustomize"}, first):
		return true
	case strings.HasPrefix(first, "-"):
		return r.areFlags(fields)
	default:
		return r.isVerb(first) && r.areFlags(rest)
	}
}

func (r *repository) isVerb(name string) bool {
	return regexp.MustCompile(`Use:\s+"` + regexp.QuoteMeta(name) + `[ "]`).MatchString(r.source)
}

// areFlags reports whether all flags among arguments are known.
func (r *repository) areFlags(args []string) bool {
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && arg != "-" && !strings.Contains(r.source, `"`+name+`"`) {
			return false
		}
	}
	return true
}

// areTests reports whether the packages and the tests of a go test command exist.
func (r *repository) areTests(args []string) bool {
	pattern, folders := "", []string{}
	for i, arg := range args {
		switch {
		case arg == "-run" && i+1 < len(args):
			pattern = strings.Trim(args[i+1], `'"`)
		case strings.HasPrefix(arg, "./") && !strings.HasSuffix(arg, "..."):
			folders = append(folders, path.Clean(arg))
		}
	}
	for _, folder := range folders {
		if !r.exists(folder) {
			return false
		}
	}
	top, _, _ := strings.Cut(pattern, "/")
	for _, name := range strings.Split(strings.Trim(top, "^$"), "|") {
		found := name == ""
		for file, names := range r.declared {
			found = found || slices.Contains(folders, path.Dir(file)) && names[name]
		}
		if !found {
			return false
		}
	}
	return true
}
