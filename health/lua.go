package health

import (
	"context"
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/limits"
)

// run runs the script on an object, within its limits.
func (c customization) run(obj *unstructured.Unstructured) (status, message string, err error) {
	type outcome struct {
		status, message string
		err             error
	}
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	state.SetGlobal("obj", toLua(state, obj.Object))
	o, ok := limits.Within(c.running, limits.Abandon, func() (o outcome) {
		defer state.Close()
		o.status, o.message, o.err = c.runIn(state)
		return o
	})
	if !ok {
		return "", "", errLuaTime
	}
	return o.status, o.message, o.err
}

// errLuaTime is returned for a script that did not end in time.
var errLuaTime = fmt.Errorf("it ran for more than %s", limits.LuaTime)

// runIn runs the script in its own Lua state. A script is a chunk that reads the object
// from the global obj and returns a table with status and message.
func (c customization) runIn(state *lua.LState) (status, message string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limits.LuaTime)
	defer cancel()
	openLibraries(state, c.openLibs)
	budget := &luaBudget{ctx, limits.LuaInstructions, limits.LuaBytes}
	budget.bound(state)
	state.SetContext(budget)
	state.Push(state.NewFunctionFromProto(c.script))
	if err := state.PCall(0, 1, nil); err != nil {
		if budget.Err() != nil {
			return "", "", budget.Err()
		}
		return "", "", errors.New(strings.SplitN(err.Error(), "\n", 2)[0])
	}
	switch result := state.Get(-1).(type) {
	case *lua.LTable:
		return lua.LVAsString(result.RawGetString("status")), lua.LVAsString(result.RawGetString("message")), nil
	case *lua.LNilType:
		return "", "", nil
	default:
		return "", "", fmt.Errorf("it returned a %s instead of a table with status and message", result.Type())
	}
}

// openLibraries opens the libraries that Argo CD opens: base, table, and time
// and date of os; with useOpenLibs also string and math. Nothing gives access
// to files or standard output, or compiles text, which would not be bounded.
func openLibraries(state *lua.LState, all bool) {
	libraries := []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenOs}
	if all {
		libraries = append(libraries, lua.OpenString, lua.OpenMath)
	}
	for _, open := range libraries {
		state.Push(state.NewFunction(open))
		state.Call(0, 0)
	}
	for _, name := range []string{"dofile", "loadfile", "load", "loadstring", "collectgarbage", "module", "_printregs"} {
		state.SetGlobal(name, lua.LNil)
	}
	os := state.NewTable()
	for _, name := range []string{"time", "date"} {
		os.RawSetString(name, state.GetField(state.GetGlobal("os"), name))
	}
	state.SetGlobal("os", os)
	state.SetGlobal("print", state.NewFunction(func(*lua.LState) int { return 0 }))
	state.SetGlobal("require", state.NewFunction(luaRequire))
}

// luaRequire returns a library that is already open.
func luaRequire(state *lua.LState) int {
	name := state.CheckString(1)
	library, ok := state.GetGlobal(name).(*lua.LTable)
	if !ok {
		state.RaiseError("library %s is not open; useOpenLibs opens string and math", name)
		return 0
	}
	state.Push(library)
	return 1
}

// toLua converts maps and lists to tables, and all numbers to Lua numbers.
func toLua(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		table := state.CreateTable(0, len(value))
		for key, v := range value {
			table.RawSetString(key, toLua(state, v))
		}
		return table
	case []any:
		table := state.CreateTable(len(value), 0)
		for _, v := range value {
			table.Append(toLua(state, v))
		}
		return table
	case string:
		return lua.LString(value)
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	}
	return lua.LNil
}
