package argocd

import (
	_ "embed"
	"strings"
)

// LuaCheck defines when objects are healthy and when they are degraded.
type LuaCheck struct {
	// Namespace and Name restrict the check to one object; an empty Name means all. An
	// object without a namespace is in each: where its CRD is unknown, it may get none.
	Namespace, Name string
	Ready, Failed   string // CEL over self; "" for none
}

// LuaScript returns a health check that judges an object by the first check that is for it.
// An object without a check is healthy.
func LuaScript(checks []LuaCheck) (string, error) {
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

// LuaNeedsLibraries reports whether a script needs useOpenLibs.
func LuaNeedsLibraries(script string) bool {
	_, checks, _ := strings.Cut(script, library)
	return strings.Contains(checks, "erAscii(")
}

// script returns the statements of one check.
func (c LuaCheck) script() (string, error) {
	var out strings.Builder
	if c.Name != "" {
		out.WriteString("if obj.metadata.name == " + quote(c.Name) + " and (obj.metadata.namespace or " + quote(c.Namespace) + ") == " + quote(c.Namespace) + " then\n")
	} else {
		out.WriteString("do\n")
	}
	if c.Failed != "" {
		text, err := LuaCondition(c.Failed)
		if err != nil {
			return "", err
		}
		out.WriteString("  if holds(function() return " + text + " end) then return {status = \"Degraded\", message = " + quote(message(c.Failed)) + "} end\n")
	}
	if c.Ready != "" {
		text, err := LuaCondition(c.Ready)
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
//
//go:embed library.lua
var library string
