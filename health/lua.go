package health

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	lua "github.com/yuin/gopher-lua"
)

// luaLimit is the maximum duration of a script, as in Argo CD.
const luaLimit = time.Second

// run runs the script on an object. A script is a chunk that reads the object
// from the global obj and returns a table with status and message. Each run has
// its own Lua state.
func (c customization) run(obj *unstructured.Unstructured) (status, message string, err error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	ctx, cancel := context.WithTimeout(context.Background(), luaLimit)
	defer cancel()
	state.SetContext(ctx)
	openLibraries(state, c.openLibs)
	state.SetGlobal("obj", toLua(state, obj.Object))
	state.Push(state.NewFunctionFromProto(c.script))
	if err := state.PCall(0, 1, nil); err != nil {
		if ctx.Err() != nil {
			return "", "", fmt.Errorf("it ran for more than %s", luaLimit)
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
// to files or standard output.
func openLibraries(state *lua.LState, all bool) {
	libraries := []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenOs}
	if all {
		libraries = append(libraries, lua.OpenString, lua.OpenMath)
	}
	for _, open := range libraries {
		state.Push(state.NewFunction(open))
		state.Call(0, 0)
	}
	for _, name := range []string{"dofile", "loadfile", "module", "_printregs"} {
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
