package condition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/ordapply/ordapply/internal/limits"
)

// CEL limits an expression by the cost of its calls, and counts most calls of its extension
// libraries as one, after they returned. The functions of a bounded environment refuse to read
// or return more than limits.CELSize, and their cost is the size of their arguments and results. Kubernetes' own
// estimator (k8s.io/apiserver/pkg/cel/library) cannot replace this: it knows only some of the
// functions, and the size of a result when it exists.

// standardEnvironment has the functions that CEL itself bounds.
var standardEnvironment = sync.OnceValues(func() (*cel.Env, error) { return cel.NewEnv(cel.OptionalTypes()) })

// newEnvironment returns an environment with these variables, and the macros and functions of
// these libraries, which are bounded.
func newEnvironment(variables []cel.EnvOption, libraries ...cel.EnvOption) (*cel.Env, error) {
	standard, err := standardEnvironment()
	if err != nil {
		return nil, err
	}
	unbounded, err := cel.NewEnv(libraries...)
	if err != nil {
		return nil, err
	}
	options := append(slices.Clone(variables), cel.OptionalTypes(), cel.Macros(unbounded.Macros()...))
	for name, f := range unbounded.Functions() {
		if standard.HasFunction(name) {
			continue
		}
		bounded, err := boundedFunction(f)
		if err != nil {
			return nil, err
		}
		options = append(options, cel.FunctionDecls(bounded))
	}
	return cel.NewEnv(options...)
}

// boundedFunction returns a function with the same overloads, which check sizes first.
func boundedFunction(f *decls.FunctionDecl) (*decls.FunctionDecl, error) {
	bindings, err := f.Bindings()
	if err != nil {
		return nil, err
	}
	byName := map[string]*functions.Overload{} // by the ID of an overload, or for all by the function's name
	for _, binding := range bindings {
		byName[binding.Operator] = binding
	}
	options := []decls.FunctionOpt{decls.DisableTypeGuards(f.Name() == "flatten")} // as its library has it
	for _, o := range f.OverloadDecls() {
		call := bind(cmp.Or(byName[o.ID()], byName[f.Name()]))
		declare := decls.Overload
		if o.IsMemberFunction() {
			declare = decls.MemberOverload
		}
		options = append(options, declare(o.ID(), o.ArgTypes(), o.ResultType(), boundedBinding(f.Name(), len(o.ArgTypes()), call)))
	}
	return decls.NewFunction(f.Name(), options...)
}

// bind returns the implementation of an overload, for any number of arguments.
func bind(o *functions.Overload) func(...ref.Val) ref.Val {
	switch {
	case o.Unary != nil:
		return func(args ...ref.Val) ref.Val { return o.Unary(args[0]) }
	case o.Binary != nil:
		return func(args ...ref.Val) ref.Val { return o.Binary(args[0], args[1]) }
	}
	return o.Function
}

// boundedBinding returns an implementation that fails instead of reading or returning too much.
func boundedBinding(name string, args int, call func(...ref.Val) ref.Val) decls.OverloadOpt {
	checked := func(args ...ref.Val) ref.Val {
		if sizeOf(args...) > limits.CELSize || resultSize(name, args) > limits.CELSize {
			return types.NewErr("%s reads, compares or returns more than %d MiB: read fewer values", name, limits.CELSize>>20)
		}
		return call(args...)
	}
	switch args {
	case 1:
		return decls.UnaryBinding(func(value ref.Val) ref.Val { return checked(value) })
	case 2:
		return decls.BinaryBinding(func(a, b ref.Val) ref.Val { return checked(a, b) })
	}
	return decls.FunctionBinding(checked)
}

// resultSize returns at least the size of a result that may be much larger than the arguments,
// or the number of comparisons if it grows with the square of theirs; 0 for other functions.
func resultSize(name string, args []ref.Val) int {
	switch name {
	case "replace":
		text, isText := args[0].Value().(string)
		old, isOld := args[1].Value().(string)
		with, isWith := args[2].Value().(string)
		if isText && isOld && isWith {
			return len(text) + strings.Count(text, old)*len(with)
		}
	case "join":
		if len(args) == 2 {
			return sizeOf(args[0]) + lengthOf(args[0])*sizeOf(args[1])
		}
	case "lists.range":
		if n, isInt := args[0].(types.Int); isInt {
			return int(min(n, limits.CELSize)) * limits.CELValue
		}
	case "distinct":
		return product(args[0], args[0])
	case "sets.contains", "sets.equivalent", "sets.intersects":
		return product(args[0], args[1])
	case "format":
		if text, isText := args[0].Value().(string); isText {
			return formatSize(text)
		}
	}
	return 0
}

// product returns the product of the lengths of two lists.
func product(a, b ref.Val) int { return lengthOf(a) * lengthOf(b) }

// lengthOf returns the length of a list whose sizeOf is below the limit; 0 for other values.
func lengthOf(value ref.Val) int {
	if list, isList := value.(traits.Lister); isList {
		length, _ := list.Size().(types.Int)
		return int(length)
	}
	return 0
}

// formatSize returns the length of a format, with the precisions in it: "%.1000f".
func formatSize(text string) int {
	total, precision := len(text), 0
	for _, c := range text {
		if c >= '0' && c <= '9' {
			precision = min(10*precision+int(c-'0'), limits.CELSize+1)
			continue
		}
		total, precision = min(total+precision, limits.CELSize+1), 0
	}
	return total
}

// sizeOf returns the size of values, in bytes, with everything in them as often as it is in
// them; it stops counting above limits.CELSize.
func sizeOf(values ...ref.Val) int {
	total := 0
	for _, value := range values {
		total += limits.CELValue
		switch value := value.(type) {
		case types.String, types.Bytes:
			total += textLength(value)
		case traits.Mapper:
			for i := value.Iterator(); total <= limits.CELSize && i.HasNext() == types.True; {
				key := i.Next()
				total += sizeOf(key, value.Get(key))
			}
		case traits.Lister:
			for i := value.Iterator(); total <= limits.CELSize && i.HasNext() == types.True; {
				total += sizeOf(i.Next())
			}
		}
		if total > limits.CELSize {
			break
		}
	}
	return total
}

// textLength returns the length of a text; 0 for other values.
func textLength(value ref.Val) int {
	switch value := value.(type) {
	case types.String:
		return len(value)
	case types.Bytes:
		return len(value)
	}
	return 0
}

// prices are the costs of the functions of a bounded environment.
type prices struct{}

// CallCost implements interpreter.ActualCostEstimator. Of CEL's own functions it prices
// in, +, bytes and string: CEL counts them as one for fields of unknown type.
func (prices) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	var read int
	standard, err := standardEnvironment()
	switch {
	case function == operators.In:
		read = 10 * lengthOf(args[1])
	case function == operators.Add, function == overloads.TypeConvertBytes, function == overloads.TypeConvertString:
		read = textLength(result)
	case err != nil || standard.HasFunction(function):
		return nil // CEL knows its cost
	default:
		read = sizeOf(args...) + sizeOf(result)
	}
	cost := 1 + uint64(read)/10
	return &cost
}

// program returns the program of a checked expression, with all limits.
func program(env *cel.Env, ast *cel.Ast) (cel.Program, error) {
	return env.Program(ast, cel.CostTracking(prices{}), cel.CostLimit(limits.CELCost), cel.InterruptCheckFrequency(100))
}

// errTooLong is returned for an evaluation that takes longer than limits.CELTime.
var errTooLong = fmt.Errorf("it takes longer than %s: read fewer values", limits.CELTime)

// evaluation is an evaluation's result.
type evaluation struct {
	value ref.Val
	err   error
}

// evaluate evaluates a program within all limits.
func evaluate(running *limits.Evaluations, p cel.Program, variables map[string]any) (ref.Val, error) {
	e, ok := limits.Within(running, limits.Abandon, func() evaluation {
		ctx, cancel := context.WithTimeout(context.Background(), limits.CELTime)
		defer cancel()
		value, _, err := p.ContextEval(ctx, variables)
		if ctx.Err() != nil && err != nil {
			err = errTooLong
		}
		return evaluation{value, err}
	})
	if !ok {
		return nil, errTooLong
	}
	if e.err != nil && strings.Contains(e.err.Error(), "actual cost limit exceeded") {
		return nil, errors.New("it computes more than the limit of one evaluation allows: read fewer values")
	}
	return e.value, e.err
}
