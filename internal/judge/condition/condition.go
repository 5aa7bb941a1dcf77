package condition

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/limits"
)

// Condition is a compiled CEL condition over `self`, an object. It is safe for concurrent
// use.
type Condition struct {
	Source  string
	program cel.Program
	running *limits.Evaluations
}

// environment is the CEL environment of a Condition, which is created once.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return newEnvironment([]cel.EnvOption{cel.Variable("self", cel.DynType)}, ext.Strings(), ext.Lists())
})

// Compile parses and type-checks a condition. The error quotes it and gives the position
// of the mistake.
func Compile(source string) (*Condition, error) {
	env, ast, err := compiled(environment, source)
	if err != nil {
		return nil, fmt.Errorf("%q is not a CEL expression: %w", source, err)
	}
	if t := ast.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("%q returns a %s, and a condition must return true or false", source, t)
	}
	p, err := program(env, ast)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", source, err)
	}
	return &Condition{source, p, new(limits.Evaluations)}, nil
}

// compiled parses and type-checks an expression. Its error has no details.
func compiled(environment func() (*cel.Env, error), source string) (*cel.Env, *cel.Ast, error) {
	env, err := environment()
	if err != nil {
		return nil, nil, err
	}
	ast, issues := env.Compile(source)
	if issues.Err() != nil {
		return nil, nil, errors.New(firstLine(issues.Err()))
	}
	return env, ast, nil
}

// Holds reports whether the condition is true for an object. A missing field is
// not an error: ok is false and absent names the field.
func (c *Condition) Holds(obj *unstructured.Unstructured) (ok bool, absent string, err error) {
	value, err := evaluate(c.running, c.program, map[string]any{"self": obj.Object})
	if err != nil {
		if absent, ok := missingField(err); ok {
			return false, absent, nil
		}
		return false, "", fmt.Errorf("%q cannot be evaluated: %s", c.Source, firstLine(err))
	}
	result, isBool := value.Value().(bool)
	if !isBool {
		return false, "", fmt.Errorf("%q returned a %s, and a condition must return true or false", c.Source, value.Type().TypeName())
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

// firstLine removes the details of CEL's error messages.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	line, _, _ = strings.Cut(line, " expecting {")
	return strings.TrimPrefix(line, "ERROR: <input>:")
}
