package health

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"

	"github.com/ordapply/ordapply/internal/limits"
)

// The interpreter looks at its context before each instruction, but one instruction may
// create a text or a list of any size, or match a pattern for hours. So bytes are counted
// first, by functions of the libraries, and the operations that boundedSyntax replaces by
// calls. Patterns are matched in short texts only; where that still takes long, the script
// is abandoned.

// Functions that replace syntax. Scripts cannot write these names.
const (
	luaConcat = "..concat" // a .. b
	luaIndex  = "..index"  // t[i] = v
)

// luaBudget is the rest of a script's allowance. It is the context of the evaluation,
// too: the interpreter calls Done before each instruction.
type luaBudget struct {
	context.Context //nolint:containedctx // it is the context that the interpreter has

	instructions int
	bytes        int
}

// Done counts an instruction.
func (b *luaBudget) Done() <-chan struct{} {
	if b.instructions--; b.instructions < 0 {
		over := make(chan struct{})
		close(over)
		return over
	}
	return b.Context.Done()
}

// Err implements context.Context.
func (b *luaBudget) Err() error {
	switch {
	case b.instructions < 0:
		return fmt.Errorf("it executed more than %d instructions: loop over fewer values", limits.LuaInstructions)
	case b.bytes < 0:
		return fmt.Errorf("it created more than %d MiB of texts and lists", limits.LuaBytes>>20)
	case b.Context.Err() != nil:
		return fmt.Errorf("it ran for more than %s", limits.LuaTime)
	}
	return nil
}

// take counts bytes that are going to be allocated.
func (b *luaBudget) take(state *lua.LState, bytes int) {
	if b.bytes < 0 || bytes > b.bytes {
		b.bytes = -1
		state.RaiseError("%s", b.Err())
	}
	b.bytes -= bytes
}

// bound replaces functions of the open libraries by ones that count their results.
func (b *luaBudget) bound(state *lua.LState) {
	for library, sizes := range map[string]map[string]func(*lua.LState) int{
		lua.StringLibName: {
			"rep": repSize, "format": formatSize, "gsub": b.gsubSize, "gmatch": gmatchSize, "gfind": gmatchSize, "find": findSize, "match": matchSize,
			"lower": firstSize, "upper": firstSize, "reverse": firstSize,
		},
		lua.TabLibName: {"concat": tableConcatSize, "insert": insertSize},
		"_G":           {"rawset": rawsetSize},
	} {
		table, open := state.GetGlobal(library).(*lua.LTable)
		if !open {
			continue
		}
		for name, size := range sizes {
			function := table.RawGetString(name).(*lua.LFunction)
			table.RawSetString(name, state.NewFunction(func(state *lua.LState) int {
				b.take(state, size(state))
				return b.call(state, function)
			}))
		}
	}
	state.SetGlobal(luaConcat, state.NewFunction(b.concat))
	state.SetGlobal(luaIndex, state.NewFunction(b.index))
}

// call calls a function with the arguments of the running one, and returns its results.
func (b *luaBudget) call(state *lua.LState, function *lua.LFunction) int {
	args := state.GetTop()
	state.Insert(function, 1)
	state.Call(args, lua.MultRet)
	return state.GetTop()
}

// concat is the operator .. of Lua.
func (b *luaBudget) concat(state *lua.LState) int {
	left, right := state.Get(1), state.Get(2)
	if lua.LVCanConvToString(left) && lua.LVCanConvToString(right) {
		b.take(state, len(lua.LVAsString(left))+len(lua.LVAsString(right)))
		state.Push(lua.LString(lua.LVAsString(left) + lua.LVAsString(right)))
		return 1
	}
	for _, operand := range []lua.LValue{left, right} {
		if operator, ok := state.GetMetaField(operand, "__concat").(*lua.LFunction); ok {
			return b.call(state, operator)
		}
	}
	state.RaiseError("cannot perform concat operation between %s and %s", left.Type(), right.Type())
	return 0
}

// index returns the index of a set element, after the table. It counts the elements of the
// table that are missing before it.
func (b *luaBudget) index(state *lua.LState) int {
	b.take(state, growth(state.Get(1), state.Get(2)))
	state.Push(state.Get(2))
	return 1
}

// growth returns the bytes that setting an element of a table adds to it.
func growth(table, index lua.LValue) int {
	at, isNumber := index.(lua.LNumber)
	if !isNumber || at < 1 || at >= lua.LNumber(lua.MaxArrayIndex) {
		return 0
	}
	length := 0
	if t, isTable := table.(*lua.LTable); isTable {
		length = t.Len()
	}
	return max(0, int(at)-length-1) * luaValueSize
}

// luaValueSize is the size of an element of a list, in bytes.
const luaValueSize = 16

func insertSize(state *lua.LState) int {
	if state.GetTop() < 3 {
		return 0
	}
	return growth(state.Get(1), state.Get(2))
}

func rawsetSize(state *lua.LState) int { return growth(state.Get(1), state.Get(2)) }

// textSize returns the length of an argument; 0 if it is no text.
func textSize(state *lua.LState, argument int) int {
	return len(lua.LVAsString(state.Get(argument)))
}

func firstSize(state *lua.LState) int { return textSize(state, 1) }

func repSize(state *lua.LState) int {
	return product(textSize(state, 1), state.OptInt(2, 0))
}

// product returns a product of sizes, at most a byte more than may be created; 0 for
// negative ones.
func product(a, b int) int {
	if a <= 0 || b <= 0 {
		return 0
	}
	if a > limits.LuaBytes/b {
		return limits.LuaBytes + 1
	}
	return a * b
}

// formatSize returns at least the length of string.format's result: any verb may have any
// argument, and a width.
func formatSize(state *lua.LState) int {
	format := lua.LVAsString(state.Get(1))
	largest, width, widths := 0, 0, 0
	for argument := 2; argument <= state.GetTop(); argument++ {
		largest = max(largest, textSize(state, argument))
	}
	for _, c := range format {
		if c >= '0' && c <= '9' {
			width = min(10*width+int(c-'0'), limits.LuaBytes)
			continue
		}
		widths, width = min(widths+width, limits.LuaBytes), 0
	}
	return len(format) + widths + product(strings.Count(format, "%"), 4*largest+64) // %q and %x are longer than the text
}

// gsubSize returns at least the length of string.gsub's result for a text. Results of
// functions and values of tables are counted when they are used.
func (b *luaBudget) gsubSize(state *lua.LState) int {
	text := subjectSize(state)
	switch with := state.Get(3).(type) {
	case lua.LString:
		captures := product(strings.Count(string(with), "%"), text)
		return gmatchSize(state) + product(text+1, len(with)+captures)
	case *lua.LFunction, *lua.LTable:
		state.Replace(3, state.NewFunction(func(state *lua.LState) int {
			return b.replacement(state, with)
		}))
	}
	return gmatchSize(state)
}

// replacement returns the value of a function or table of string.gsub for a match.
func (b *luaBudget) replacement(state *lua.LState, with lua.LValue) int {
	if function, ok := with.(*lua.LFunction); ok {
		b.call(state, function)
	} else {
		state.Push(state.GetTable(with, state.Get(1)))
	}
	b.take(state, textSize(state, -1))
	return 1
}

// gmatchSize returns the size of all matches in a text.
func gmatchSize(state *lua.LState) int { return 64 * (subjectSize(state) + 1) }

func matchSize(state *lua.LState) int { return subjectSize(state) }

// findSize is matchSize, unless a plain text is looked for.
func findSize(state *lua.LState) int {
	if lua.LVAsBool(state.Get(4)) {
		return 0
	}
	return subjectSize(state)
}

// subjectSize returns the length of the text in which a pattern is matched, which may not be
// long: the time grows with a power of it, and so does the stack.
func subjectSize(state *lua.LState) int {
	size := textSize(state, 1)
	if size > limits.LuaSubject {
		state.RaiseError("it matches a pattern in a text of more than %d KiB: use string.find with plain text", limits.LuaSubject>>10)
	}
	return size
}

// tableConcatSize returns the length of table.concat's result.
func tableConcatSize(state *lua.LState) int {
	table, isTable := state.Get(1).(*lua.LTable)
	if !isTable {
		return 0
	}
	total := product(table.Len(), textSize(state, 2))
	table.ForEach(func(_, value lua.LValue) {
		if total <= limits.LuaBytes {
			total += len(lua.LVAsString(value))
		}
	})
	return total
}

// boundedSyntax replaces operators that make texts and lists in a script by calls: a .. b by
// luaConcat(a, b), and the index of t[i] = v, or {[i] = v}, by luaIndex(t, i).
func boundedSyntax(node reflect.Value) {
	switch node.Kind() {
	case reflect.Interface:
		boundedSyntax(node.Elem())
		if concat, ok := node.Interface().(*ast.StringConcatOpExpr); ok {
			node.Set(reflect.ValueOf(luaCall(luaConcat, concat, concat.Lhs, concat.Rhs)))
		}
	case reflect.Pointer:
		if node.IsNil() {
			return
		}
		boundedSyntax(node.Elem())
		switch at := node.Interface().(type) {
		case *ast.AssignStmt:
			for _, target := range at.Lhs {
				if element, ok := target.(*ast.AttrGetExpr); ok {
					element.Key = boundedIndex(element, element.Object, element.Key)
				}
			}
		case *ast.Field:
			if at.Key != nil {
				at.Key = boundedIndex(at.Key, nil, at.Key)
			}
		}
	case reflect.Struct:
		for i := range node.NumField() {
			boundedSyntax(node.Field(i))
		}
	case reflect.Slice:
		for i := range node.Len() {
			boundedSyntax(node.Index(i))
		}
	}
}

// boundedIndex returns an index that is counted, unless it is a name. A table that is not a
// variable, or a field of one, would be evaluated twice; it is taken for an empty one.
func boundedIndex(at ast.PositionHolder, table, index ast.Expr) ast.Expr {
	if _, isName := index.(*ast.StringExpr); isName {
		return index
	}
	if !isVariable(table) {
		table = &ast.NilExpr{}
	}
	return luaCall(luaIndex, at, table, index)
}

// isVariable reports whether an expression is a variable, or a field of one.
func isVariable(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.IdentExpr:
		return true
	case *ast.AttrGetExpr:
		_, isName := e.Key.(*ast.StringExpr)
		return isName && isVariable(e.Object)
	}
	return false
}

// luaCall returns the call of a global function, at a position.
func luaCall(name string, at ast.PositionHolder, args ...ast.Expr) ast.Expr {
	function := &ast.IdentExpr{Value: name}
	call := &ast.FuncCallExpr{Func: function, Args: args, AdjustRet: true}
	for _, node := range []ast.PositionHolder{function, call} {
		node.SetLine(at.Line())
		node.SetLastLine(at.LastLine())
	}
	return call
}
