// Package cellua writes conditions in CEL as health checks in Lua, the language of Argo
// CD's (https://argo-cd.readthedocs.io/en/stable/operator-manual/health/#custom-health-checks).
//
//	script, err := cellua.Script([]cellua.Check{{Ready: `self.status.phase == "Up"`}})
//
// As with CEL, a condition that reads a missing field does not hold, unless another
// alternative does. A script that changes the case of texts needs Lua's string library,
// which Argo CD opens on request: see NeedsLibraries.
package cellua

import "strings"

// Check is what defines when objects are healthy and when they are degraded.
type Check struct {
	// Namespace and Name restrict the check to one object; an empty Name means all.
	Namespace, Name string
	Ready, Failed   string // CEL over self; "" for none
}

// Script returns a health check that judges an object by the first check that is for it.
// An object that none is for is healthy.
func Script(checks []Check) (string, error) {
	var out strings.Builder
	out.WriteString(library)
	for _, c := range checks {
		text, err := c.script()
		if err != nil {
			return "", err
		}
		out.WriteString(text)
	}
	out.WriteString("return {status = \"Healthy\", message = \"\"}\n")
	return out.String(), nil
}

// NeedsLibraries reports whether a script needs useOpenLibs.
func NeedsLibraries(script string) bool {
	_, checks, _ := strings.Cut(script, library)
	return strings.Contains(checks, "erAscii(")
}

// script returns the statements of one check.
func (c Check) script() (string, error) {
	var out strings.Builder
	if c.Name != "" {
		out.WriteString("if obj.metadata.name == " + quote(c.Name) + " and (obj.metadata.namespace or \"\") == " + quote(c.Namespace) + " then\n")
	} else {
		out.WriteString("do\n")
	}
	if c.Failed != "" {
		text, err := Condition(c.Failed)
		if err != nil {
			return "", err
		}
		out.WriteString("  if holds(function() return " + text + " end) then return {status = \"Degraded\", message = " + quote(message(c.Failed)) + "} end\n")
	}
	if c.Ready != "" {
		text, err := Condition(c.Ready)
		if err != nil {
			return "", err
		}
		out.WriteString("  if not holds(function() return " + text + " end) then return {status = \"Progressing\", message = " + quote("waits for "+message(c.Ready)) + "} end\n")
	}
	out.WriteString("  return {status = \"Healthy\", message = \"\"}\nend\n")
	return out.String(), nil
}

// message returns a condition for display.
func message(source string) string {
	text := strings.Join(strings.Fields(source), " ")
	if len(text) > 120 {
		return text[:117] + "..."
	}
	return text
}

// library has the functions that conditions call. In CEL, reading a missing field is an
// error, which "and" and "or" ignore if the other side decides.
const library = `local function field(t, k)
  local v = t[k]
  if v == nil then error("no field " .. tostring(k)) end
  return v
end
local function optional(t, k)
  if type(t) ~= "table" then return nil end
  return t[k]
end
local function has(f)
  local ok, v = pcall(f)
  return ok and v ~= nil
end
local function any(...)
  local failed = false
  for _, f in ipairs({...}) do
    local ok, v = pcall(f)
    if ok and v == true then return true end
    failed = failed or not ok
  end
  if failed then error("undecided") end
  return false
end
local function all(...)
  local failed = false
  for _, f in ipairs({...}) do
    local ok, v = pcall(f)
    if ok and v == false then return false end
    failed = failed or not ok
  end
  if failed then error("undecided") end
  return true
end
local function members(t)
  if #t > 0 then return t end
  local keys = {}
  for k in pairs(t) do table.insert(keys, k) end
  return keys
end
local function exists(list, f)
  local failed = false
  for _, v in ipairs(members(list)) do
    local ok, held = pcall(f, v)
    if ok and held == true then return true end
    failed = failed or not ok
  end
  if failed then error("undecided") end
  return false
end
local function every(list, f)
  local failed = false
  for _, v in ipairs(members(list)) do
    local ok, held = pcall(f, v)
    if ok and held == false then return false end
    failed = failed or not ok
  end
  if failed then error("undecided") end
  return true
end
local function within(v, list)
  for _, w in ipairs(members(list)) do if v == w then return true end end
  return false
end
local function size(v)
  if type(v) == "string" then return #v end
  local n = 0
  for _ in pairs(v) do n = n + 1 end
  return n
end
local function otherwise(v, other)
  if v == nil then return other end
  return v
end
local function choose(condition, one, other)
  if condition == true then return one() end
  if condition == false then return other() end
  error("undecided")
end
local function lowerAscii(text)
  return text:lower()
end
local function upperAscii(text)
  return text:upper()
end
local function holds(f)
  local ok, v = pcall(f)
  return ok and v == true
end
`
