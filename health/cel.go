package health

import (
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// celCost limits one evaluation, in CEL's cost units. A condition over a large
// status costs some thousand.
const celCost = 1_000_000

// expression is a compiled CEL condition over `self`, the object.
type expression struct {
	source  string
	program cel.Program
}

// celEnvironment returns the CEL environment, which is created once.
var celEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("self", cel.DynType),
		cel.OptionalTypes(),
		ext.Strings(),
		ext.Lists(),
	)
})

// compile parses and type-checks a CEL condition.
func compile(source string) (*expression, error) {
	env, err := celEnvironment()
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(source)
	if issues.Err() != nil {
		return nil, fmt.Errorf("%q is not a CEL expression: %s", source, firstLine(issues.Err().Error()))
	}
	if t := ast.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("%q returns a %s, and a condition must return true or false", source, t)
	}
	program, err := env.Program(ast, cel.CostLimit(celCost))
	if err != nil {
		return nil, fmt.Errorf("%q: %w", source, err)
	}
	return &expression{source, program}, nil
}

// holds reports whether the condition is true for an object. A missing field is
// not an error: ok is false and absent names the field.
func (e *expression) holds(obj *unstructured.Unstructured) (ok bool, absent string, err error) {
	value, _, err := e.program.Eval(map[string]any{"self": obj.Object})
	if err != nil {
		if absent, ok := missingField(err); ok {
			return false, absent, nil
		}
		return false, "", fmt.Errorf("%q cannot be evaluated: %s", e.source, firstLine(err.Error()))
	}
	result, isBool := value.Value().(bool)
	if !isBool {
		return false, "", fmt.Errorf("%q returned a %s, and a condition must return true or false", e.source, value.Type().TypeName())
	}
	return result, "", nil
}

// missingField reports whether an evaluation failed at a key or index that does
// not exist. CEL exposes it only in the error's text.
func missingField(err error) (name string, ok bool) {
	if _, key, ok := strings.Cut(err.Error(), "no such key: "); ok {
		return "field " + key, true
	}
	if _, index, ok := strings.Cut(err.Error(), "index out of bounds: "); ok {
		return "entry " + index, true
	}
	return "", false
}

// firstLine removes the details of CEL's and Lua's error messages.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	line, _, _ = strings.Cut(line, " expecting {")
	return strings.TrimPrefix(line, "ERROR: <input>:")
}
