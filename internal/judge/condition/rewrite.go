package condition

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/ext"
)

// AnyOf returns a condition that holds if any of the sources does; empty ones are left
// out, and "" is returned if all are.
func AnyOf(sources ...string) string {
	sources = slices.DeleteFunc(slices.Clone(sources), func(s string) bool { return s == "" })
	if len(sources) < 2 {
		return strings.Join(sources, "")
	}
	return "(" + strings.Join(sources, ") || (") + ")"
}

// WithoutSelf returns a condition in which the fields of the object are variables, as Flux
// reads conditions: `self.status.phase == "Up"` becomes `status.phase == "Up"`. It is an
// error if the condition uses self as a whole.
func WithoutSelf(source string) (string, error) {
	tree, err := ParseCEL(source)
	if err != nil {
		return "", err
	}
	text := []rune(source)
	var starts []int
	celast.PostOrderVisit(tree.Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		if e.Kind() == celast.IdentKind && e.AsIdent() == "self" {
			at, ok := tree.SourceInfo().GetOffsetRange(e.ID())
			if ok {
				starts = append(starts, int(at.Start))
			}
		}
	}))
	slices.Sort(starts)
	starts = slices.Compact(starts)
	for _, at := range slices.Backward(starts) {
		if text, err = withoutSelfAt(text, at); err != nil {
			return "", fmt.Errorf("%q: %w", source, err)
		}
	}
	return string(text), nil
}

// withoutSelfAt replaces one `self.field`, or `self.?field`, at a position.
func withoutSelfAt(text []rune, at int) ([]rune, error) {
	next := func(i int) int {
		for i < len(text) && unicode.IsSpace(text[i]) {
			i++
		}
		return i
	}
	dot := next(at + len("self"))
	if dot >= len(text) || text[dot] != '.' {
		return nil, errors.New("it uses self as a whole, and not by its fields")
	}
	field := next(dot + 1)
	optional := field < len(text) && text[field] == '?'
	if optional {
		field = next(field + 1)
	}
	end := field
	for end < len(text) && (text[end] == '_' || unicode.IsLetter(text[end]) || unicode.IsDigit(text[end])) {
		end++
	}
	name := string(text[field:end])
	if optional {
		name = "optional.of(" + name + ")"
	}
	return slices.Concat(text[:at], []rune(name), text[end:]), nil
}

// Guarded returns a condition without self that is false where a field is missing that
// the condition reads: `has(status.phase) && (status.phase == "Broken")`.
func Guarded(source string) (string, error) {
	flat, err := WithoutSelf(source)
	if err != nil {
		return "", err
	}
	tree, err := ParseCEL(source)
	if err != nil {
		return "", err
	}
	guards := map[string]bool{}
	celast.PostOrderVisit(tree.Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		for path := fieldPath(e); strings.Contains(path, "."); path = path[:strings.LastIndex(path, ".")] {
			guards["has("+path+")"] = true
		}
	}))
	if len(guards) == 0 {
		return flat, nil
	}
	// A shorter path sorts before those that begin with it.
	sorted := slices.SortedFunc(maps.Keys(guards), func(a, b string) int {
		return strings.Compare(strings.TrimSuffix(a, ")"), strings.TrimSuffix(b, ")"))
	})
	return strings.Join(sorted, " && ") + " && (" + flat + ")", nil
}

// fieldPath returns the path below self that a selection reads: "status.phase"; "" if it
// is no such selection, or only tests whether the field is there.
func fieldPath(e celast.Expr) string {
	if e.Kind() != celast.SelectKind || e.AsSelect().IsTestOnly() {
		return ""
	}
	selected := e.AsSelect()
	switch of := selected.Operand(); {
	case of.Kind() == celast.IdentKind && of.AsIdent() == "self":
		return selected.FieldName()
	default:
		if path := fieldPath(of); path != "" {
			return path + "." + selected.FieldName()
		}
		return ""
	}
}

// ParseCEL parses a condition over self.
func ParseCEL(source string) (*celast.AST, error) {
	env, err := macroEnvironment()
	if err != nil {
		return nil, err
	}
	tree, issues := env.Parse(source)
	if issues.Err() != nil {
		return nil, fmt.Errorf("%q is not a CEL expression: %s", source, firstLine(issues.Err()))
	}
	return tree.NativeRep(), nil
}

// macroEnvironment is that of conditions; its trees keep the calls of macros, such as
// exists.
var macroEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	return env.Extend(cel.EnableMacroCallTracking())
})

// fluxEnvironment has the functions that Flux evaluates conditions with; it checks no types
// (github.com/fluxcd/pkg/runtime/cel, v0.91.0).
var fluxEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(cel.Variable("self", cel.DynType),
		cel.DefaultUTCTimeZone(true), cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders())
})

// CheckForFlux returns the error in a condition over self that Flux cannot evaluate.
func CheckForFlux(source string) error {
	if _, _, err := compiled(fluxEnvironment, source); err != nil {
		return fmt.Errorf("%q: %w", source, err)
	}
	return nil
}
