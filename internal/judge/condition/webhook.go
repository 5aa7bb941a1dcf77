package condition

import (
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"

	"github.com/ordapply/ordapply/internal/limits"
)

// matchEnvironment has the variables of a webhook's matchConditions
// (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-matchconditions)
// except authorizer, which only the API server can evaluate.
var matchEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	variables := []cel.EnvOption{cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType), cel.Variable("request", cel.DynType)}
	return newEnvironment(variables, ext.Strings(), ext.Lists(), ext.Sets())
})

// MatchConditions returns a function that evaluates the matchConditions of
// webhooks over variables: object, oldObject and request. It compiles each
// expression once and is not safe for concurrent use. known is false if the
// expression needs the API server or a field that the variables do not have.
func MatchConditions() func(expression string, variables map[string]any) (holds, known bool) {
	programs := map[string]cel.Program{} // nil if it does not compile
	running := new(limits.Evaluations)
	return func(expression string, variables map[string]any) (holds, known bool) {
		program, compiled := programs[expression]
		if !compiled {
			program = matchProgram(expression)
			programs[expression] = program
		}
		if program == nil {
			return false, false
		}
		value, err := evaluate(running, program, variables)
		if err != nil {
			return false, false
		}
		holds, known = value.Value().(bool)
		return holds, known
	}
}

func matchProgram(expression string) cel.Program {
	env, ast, err := compiled(matchEnvironment, expression)
	if err != nil {
		return nil
	}
	p, _ := program(env, ast) // nil on error
	return p
}
