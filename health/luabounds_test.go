package health_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/test/smallmemory"
)

// luaAssess assesses an object with data.l, a text of 1 MiB, and data.s, one of 300 bytes,
// by a script with all libraries.
func luaAssess(t *testing.T, script string) health.Assessment {
	t.Helper()
	custom, err := health.ParseArgoCDFiles(map[string]string{"example.com/Foo/health.lua": script})
	require.NoError(t, err)
	return (&health.Assessor{ArgoCDFolder: custom}).Assess(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Foo", "metadata": map[string]any{"name": "a"},
		"data": map[string]any{"l": strings.Repeat("a", 1<<20), "s": strings.Repeat("a", 300)},
	}})
}

// No script takes much memory, or time that is waited for.
func TestScriptsAreBounded(t *testing.T) {
	if !smallmemory.Within(t, 2560) {
		return
	}
	const texts, instructions, subject = "created more than 64 MiB of texts and lists", "executed more than 2000000 instructions", "matches a pattern in a text of more than 64 KiB"
	for name, c := range map[string]struct{ script, want string }{
		"an endless loop":               {`while true do end`, instructions},
		"an endless loop with pcall":    {`while true do pcall(function() while true do end end) end`, instructions},
		"endless recursion":             {`local function f() return f() end f()`, instructions},
		"a pattern":                     {`string.find(obj.data.s, ".-.-.-.-.-.-.-.-.-.-.-.-.-.-b")`, "ran for more than 1s"},
		"a pattern in a long text":      {`string.find(obj.data.l, "(.*)b")`, subject},
		"all matches in a long text":    {`obj.data.l:gsub(".", "%0%0")`, subject},
		"a repeated text":               {`string.rep("x", 2e9)`, texts},
		"a repeated text by its method": {`local t = {} for i = 1, 1e6 do t[i] = ("x"):rep(1e6) end`, texts},
		"a doubled text":                {`local s = "x" for i = 1, 40 do s = s .. s end`, texts},
		"a doubled text in pcall":       {`local s = "x" for i = 1, 40 do pcall(function() s = s .. s end) end while true do end`, ""},
		"joined texts":                  {`local t = {} for i = 1, 1000 do t[i] = obj.data.l end table.concat(t)`, texts},
		"joined by a long text":         {`local t = {} for i = 1, 1000 do t[i] = "" end table.concat(t, obj.data.l)`, texts},
		"a format":                      {`string.format(string.rep("%[1]s", 1000), obj.data.l)`, texts},
		"a wide format":                 {`string.format(string.rep("%999999d", 1000), 1)`, texts},
		"replaced by a text":            {`string.rep("a", 1000):gsub("a", obj.data.l)`, texts},
		"replaced by captures":          {`string.rep("a", 60000):gsub(".*", string.rep("%0", 10000))`, texts},
		"replaced by a function":        {`string.rep("a", 1000):gsub("a", function() return obj.data.l end)`, texts},
		"replaced by a table":           {`string.rep("a", 1000):gsub("a", {a = obj.data.l})`, texts},
		"many lower case texts":         {`local t = {} for i = 1, 1e6 do t[i] = obj.data.l:lower() end`, texts},
		"a list with a far element":     {`local t = {} t[6e7] = 1`, texts},
		"many lists with a far element": {`local t = {} for i = 1, 1e6 do t[i] = {[100000] = 1} end`, texts},
		"a far element by rawset":       {`rawset({}, 6e7, 1)`, texts},
		"a far element by insert":       {`table.insert({}, 6e7, 1)`, texts},
		"a far element of a call":       {`local function f() return {} end f()[6e7] = 1`, texts},
		"compiled text":                 {`loadstring("return 1")`, "attempt to call a non-function object"},
	} {
		t.Run(name, func(t *testing.T) {
			started := time.Now()
			a := luaAssess(t, c.script)
			require.Equal(t, health.Unknown, a.Verdict)
			if !strings.Contains(a.Reason, "ran for more than 1s") { // as on a busy machine
				require.Contains(t, a.Reason, c.want)
			}
			require.Less(t, time.Since(started), 20*time.Second)
		})
	}
}

// Bounded functions work as in Lua.
func TestFunctionsOfScripts(t *testing.T) {
	for expression, want := range map[string]string{
		`"a" .. 1 .. "b" .. 2.5`: "a1b2.5",
		`setmetatable({}, {__concat = function() return "x" end}) .. "b"`: "x",
		`select(2, pcall(function() return nil .. "a" end))`:              "example.com/Foo:2: cannot perform concat operation between nil and string",
		`string.rep("ab", 2)`:                                                                        "abab",
		`string.format("%s %d %5.1f|", "a", 3, 1.5)`:                                                 "a 3   1.5|",
		`(("hello world"):gsub("o", "0"))`:                                                           "hell0 w0rld",
		`(("hello"):gsub("(l)(l)", "%2-%1"))`:                                                        "hel-lo",
		`(("hello"):gsub("l", {l = "L"}))`:                                                           "heLLo",
		`(("hello"):gsub("l", function(c) return c .. c end))`:                                       "hellllo",
		`select(2, ("hello"):gsub("l", "L"))`:                                                        "2",
		`("key=value"):match("(%w+)=(%w+)")`:                                                         "key",
		`tostring(("a.b"):find(".", 1, true))`:                                                       "2",
		`("Ab"):lower() .. ("Ab"):upper() .. ("Ab"):reverse()`:                                       "abABbA",
		`table.concat({"a", "b", 1}, ", ")`:                                                          "a, b, 1",
		`(function() local s = "" for w in ("a b c"):gmatch("%w") do s = s .. w end return s end)()`: "abc",
		`(function() local t = {} t[3] = "c" t[1] = "a" rawset(t, 2, "b") table.insert(t, "d") return table.concat(t) end)()`:            "abcd",
		`(function() local t = {a = {}} t.a[#t.a + 1] = "x" t.a["y"] = "y" t.a[obj.kind] = "k" return t.a[1] .. t.a.y .. t.a.Foo end)()`: "xyk",
		`({[1] = "a", ["b"] = "b", c = "c", "d"}).b`: "b",
	} {
		a := luaAssess(t, "local text =\n"+expression+"\nreturn {status = 'Healthy', message = tostring(text)}")
		require.Equal(t, want, a.Reason, expression)
	}
}
