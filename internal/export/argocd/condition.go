package argocd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/ordapply/ordapply/internal/judge/condition"
)

// LuaCondition translates a condition over self to Lua over obj. The result uses the
// functions of the library. The error names the part that Lua cannot express.
func LuaCondition(source string) (string, error) {
	tree, err := condition.ParseCEL(source)
	if err != nil {
		return "", err
	}
	w := &writer{macros: tree.SourceInfo().MacroCalls()}
	text := w.write(tree.Expr())
	if w.unknown != "" {
		return "", fmt.Errorf("%q: %s cannot be expressed in Lua", source, w.unknown)
	}
	return text, nil
}

// writer writes one condition.
type writer struct {
	macros  map[int64]ast.Expr
	unknown string // the first part that cannot be expressed
}

func (w *writer) fail(what string) string {
	if w.unknown == "" {
		w.unknown = what
	}
	return "nil"
}

func (w *writer) write(e ast.Expr) string {
	if macro, ok := w.macros[e.ID()]; ok {
		return w.macro(macro)
	}
	switch e.Kind() {
	case ast.LiteralKind:
		return w.literal(e)
	case ast.IdentKind:
		if e.AsIdent() == "self" {
			return "obj"
		}
		return "v_" + e.AsIdent()
	case ast.SelectKind:
		return fmt.Sprintf("field(%s, %s)", w.write(e.AsSelect().Operand()), quote(e.AsSelect().FieldName()))
	case ast.ListKind:
		items := make([]string, e.AsList().Size())
		for i, item := range e.AsList().Elements() {
			items[i] = w.write(item)
		}
		return "{" + strings.Join(items, ", ") + "}"
	case ast.CallKind:
		return w.call(e.AsCall())
	}
	return w.fail("a map or a message")
}

func (w *writer) literal(e ast.Expr) string {
	switch value := e.AsLiteral().(type) {
	case types.String:
		return quote(string(value))
	case types.Bool:
		return strconv.FormatBool(bool(value))
	case types.Int:
		return strconv.FormatInt(int64(value), 10)
	case types.Double:
		return strconv.FormatFloat(float64(value), 'g', -1, 64)
	}
	return w.fail("the value " + fmt.Sprint(e.AsLiteral().Value()))
}

// macro writes has, exists and all.
func (w *writer) macro(e ast.Expr) string {
	call := e.AsCall()
	switch name := call.FunctionName(); {
	case name == "has":
		selected := call.Args()[0].AsSelect()
		return fmt.Sprintf("has(function() return field(%s, %s) end)", w.write(selected.Operand()), quote(selected.FieldName()))
	case (name == "exists" || name == "all") && len(call.Args()) == 2:
		function := map[string]string{"exists": "exists", "all": "every"}[name]
		return fmt.Sprintf("%s(%s, function(v_%s) return %s end)", function, w.write(call.Target()), call.Args()[0].AsIdent(), w.write(call.Args()[1]))
	default:
		return w.fail("the macro " + name)
	}
}

// calls are the operators and functions in Lua, as formats of their arguments.
func calls() map[string]string {
	return map[string]string{
		operators.Equals:        "(%[1]s == %[2]s)",
		operators.NotEquals:     "(%[1]s ~= %[2]s)",
		operators.Less:          "(%[1]s < %[2]s)",
		operators.LessEquals:    "(%[1]s <= %[2]s)",
		operators.Greater:       "(%[1]s > %[2]s)",
		operators.GreaterEquals: "(%[1]s >= %[2]s)",
		operators.Add:           "(%[1]s + %[2]s)",
		operators.Subtract:      "(%[1]s - %[2]s)",
		operators.LogicalAnd:    "all(function() return %[1]s end, function() return %[2]s end)",
		operators.LogicalOr:     "any(function() return %[1]s end, function() return %[2]s end)",
		operators.LogicalNot:    "(not %[1]s)",
		operators.Conditional:   "choose(%[1]s, function() return %[2]s end, function() return %[3]s end)",
		operators.In:            "within(%[1]s, %[2]s)",
		operators.OptSelect:     "optional(%[1]s, %[2]s)",
		operators.OptIndex:      "optional(%[1]s, %[2]s)",
		operators.Index:         "field(%[1]s, %[2]s)",
		"size":                  "size(%[1]s)",
		"orValue":               "otherwise(%[1]s, %[2]s)",
		"hasValue":              "(%[1]s ~= nil)",
		"lowerAscii":            "lowerAscii(%[1]s)",
		"upperAscii":            "upperAscii(%[1]s)",
	}
}

func (w *writer) call(call ast.CallExpr) string {
	function := call.FunctionName()
	args := call.Args()
	if call.IsMemberFunction() {
		args = slices.Concat([]ast.Expr{call.Target()}, args)
	}
	texts := make([]any, len(args))
	for i, arg := range args {
		texts[i] = w.write(arg)
	}
	format, known := calls()[function]
	if !known {
		return w.fail("the function " + function)
	}
	if function == operators.Index && args[1].Kind() == ast.LiteralKind && args[1].AsLiteral().Type() == types.IntType {
		format = "field(%[1]s, %[2]s + 1)" // Lua counts from 1
	}
	return fmt.Sprintf(format, texts...)
}
