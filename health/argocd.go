package health

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/internal/text/tree"
)

// Keys of Argo CD's ConfigMap argocd-cm (Argo CD, "Resource Health", custom
// health checks).
const (
	argoAll      = "resource.customizations"
	argoHealth   = "resource.customizations.health."
	argoOpenLibs = "resource.customizations.useOpenLibs."
)

// Customizations are Argo CD's health checks in Lua. A nil *Customizations has
// none. A check that runs for more than a second, as in Argo CD, or creates too much, gives
// Unknown.
type Customizations struct {
	source string                   // prefix of Assessment.Rule: argocd-cm
	exact  map[string]customization // by group/Kind, or Kind in the core group
	wild   []customization          // with * in group or kind, in order of evaluation
}

type customization struct {
	key      string // group/Kind
	script   *lua.FunctionProto
	openLibs bool
	running  *limits.Evaluations
}

// ParseArgoCD reads the data of the ConfigMap argocd-cm and compiles its health
// scripts (resource.customizations and resource.customizations.health.*). It
// ignores keys that are not about health. The error joins the scripts' errors.
func ParseArgoCD(data map[string]string) (*Customizations, error) {
	scripts, err := argoScripts(data)
	if err != nil {
		return nil, err
	}
	c := &Customizations{source: "argocd-cm", exact: map[string]customization{}}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(scripts)) {
		if err := c.add(key, scripts[key]); err != nil {
			errs = append(errs, fmt.Errorf("argocd-cm: health of %s: %w", key, err))
		}
	}
	c.sort(strings.Compare)
	return c, errors.Join(errs...)
}

// ParseArgoCDFiles reads the health checks that are part of Argo CD: the files
// <group>/<Kind>/health.lua of its folder resource_customizations, by their
// path below it. It ignores other files. As in Argo CD, _ in a path matches any
// characters, and scripts may use all libraries. If several match, the longest
// path is used. The error joins the scripts' errors.
func ParseArgoCDFiles(files map[string]string) (*Customizations, error) {
	c := &Customizations{source: "argocd", exact: map[string]customization{}}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		key, ok := strings.CutSuffix(name, "/health.lua")
		if !ok {
			continue
		}
		key = strings.ReplaceAll(key, "_", "*")
		if err := c.add(key, argoScript{Script: files[name], OpenLibs: true}); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	c.sort(func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return c, errors.Join(errs...)
}

// Len returns the number of checks; 0 for a nil *Customizations.
func (c *Customizations) Len() int {
	if c == nil {
		return 0
	}
	return len(c.exact) + len(c.wild)
}

// add compiles a script. It ignores empty ones.
func (c *Customizations) add(key string, s argoScript) error {
	if s.Script == "" {
		return nil
	}
	script, err := compileLua(key, s.Script)
	if err != nil {
		return err
	}
	one := customization{key, script, s.OpenLibs, new(limits.Evaluations)}
	if strings.Contains(key, "*") {
		c.wild = append(c.wild, one)
	} else {
		c.exact[key] = one
	}
	return nil
}

// sort sorts the checks with wildcards in order of evaluation.
func (c *Customizations) sort(compare func(a, b string) int) {
	slices.SortFunc(c.wild, func(a, b customization) int { return compare(a.key, b.key) })
}

type argoScript struct {
	Script   string `json:"health.lua"`
	OpenLibs bool   `json:"health.lua.useOpenLibs"`
}

// argoScripts collects the scripts of both forms, by group/Kind. A key for one
// kind takes precedence over the combined key.
func argoScripts(data map[string]string) (map[string]argoScript, error) {
	scripts := map[string]argoScript{}
	if err := tree.Unmarshal([]byte(data[argoAll]), &scripts); err != nil {
		return nil, fmt.Errorf("argocd-cm: %s: %w", argoAll, err)
	}
	for key, value := range data {
		if name, ok := strings.CutPrefix(key, argoHealth); ok {
			key = argoKey(name)
			scripts[key] = argoScript{value, scripts[key].OpenLibs}
		}
	}
	for key, value := range data {
		if name, ok := strings.CutPrefix(key, argoOpenLibs); ok {
			key = argoKey(name)
			scripts[key] = argoScript{scripts[key].Script, strings.TrimSpace(value) == "true"}
		}
	}
	return scripts, nil
}

// argoKey converts the group_Kind of a ConfigMap key to group/Kind.
func argoKey(name string) string {
	if name == "all" {
		return "*/*"
	}
	group, kind, ok := strings.Cut(name, "_")
	if !ok {
		return name
	}
	return group + "/" + kind
}

func compileLua(name, source string) (*lua.FunctionProto, error) {
	chunk, err := parse.Parse(strings.NewReader(source), name)
	if err != nil {
		return nil, errors.New(strings.Join(strings.Fields(err.Error()), " "))
	}
	boundedSyntax(reflect.ValueOf(chunk))
	return lua.Compile(chunk, name)
}

// assess assesses an object by the script for its kind; exact matches take
// precedence over wildcards. ok is false if there is no script or it returns no
// status.
func (c *Customizations) assess(obj *unstructured.Unstructured) (Assessment, bool) {
	one, ok := c.find(obj.GroupVersionKind().Group, obj.GetKind())
	if !ok {
		return Assessment{}, false
	}
	rule := c.source + " " + one.key
	status, message, err := one.run(obj)
	if err != nil {
		return invalidRule(rule, fmt.Errorf("the Lua script failed: %w", err)), true
	}
	a, known := map[string]Assessment{
		"Healthy":     {Verdict: Ready},
		"Progressing": {Verdict: Progressing},
		"Suspended":   {Verdict: Progressing, Health: GradeSuspended},
		"Missing":     {Verdict: Progressing, Health: GradeMissing},
		"Degraded":    {Verdict: Failed, Health: GradeDegraded},
		"Unknown":     {},
	}[status]
	a.Reason, a.Rule = cmp.Or(message, status), rule
	if !known {
		a.Reason = fmt.Sprintf("the Lua script returned the status %q, which Argo CD does not define", status)
	}
	if status == "Suspended" {
		a = markSuspended(obj, a)
	}
	return a, status != ""
}

func (c *Customizations) find(group, kind string) (customization, bool) {
	if c == nil {
		return customization{}, false
	}
	key := groupKind(group, kind)
	if one, ok := c.exact[key]; ok {
		return one, true
	}
	for _, one := range c.wild {
		if glob(one.key, key) {
			return one, true
		}
	}
	return customization{}, false
}
