package health

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/parse"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	lua "github.com/yuin/gopher-lua"
)

// Keys of Argo CD's argocd-cm ConfigMap (Argo CD, "Resource Health", custom
// health checks).
const (
	argoAll      = "resource.customizations"
	argoHealth   = "resource.customizations.health."
	argoOpenLibs = "resource.customizations.useOpenLibs."
)

// Customizations are the health checks in Lua of an argocd-cm ConfigMap. A nil
// *Customizations has none.
type Customizations struct {
	source string                   // in front of the key in a rule: argocd-cm
	exact  map[string]customization // by group/Kind, Kind alone for the core group
	wild   []customization          // with * in group or kind, in the order of their keys
}

type customization struct {
	key      string // group/Kind
	script   *lua.FunctionProto
	openLibs bool
}

// ParseArgoCD reads the data of an argocd-cm ConfigMap and compiles its health
// scripts. Keys that are not about health are left alone.
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

// ParseArgoCDFiles reads the health checks that come with Argo CD, the files
// <group>/<Kind>/health.lua of its folder resource_customizations by their paths
// below it. Other files are left alone. As there, _ in a path stands for any run
// of characters, and the scripts have all libraries. Of several that match, the
// one with the longest path decides.
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

// Len is how many checks there are.
func (c *Customizations) Len() int { return len(c.exact) + len(c.wild) }

// add compiles a script; one without text is none.
func (c *Customizations) add(key string, s argoScript) error {
	if s.Script == "" {
		return nil
	}
	script, err := compileLua(key, s.Script)
	if err != nil {
		return err
	}
	one := customization{key, script, s.OpenLibs}
	if strings.Contains(key, "*") {
		c.wild = append(c.wild, one)
	} else {
		c.exact[key] = one
	}
	return nil
}

// sort puts the checks with wildcards in the order in which they are asked.
func (c *Customizations) sort(compare func(a, b string) int) {
	slices.SortFunc(c.wild, func(a, b customization) int { return compare(a.key, b.key) })
}

type argoScript struct {
	Script   string `json:"health.lua"`
	OpenLibs bool   `json:"health.lua.useOpenLibs"`
}

// argoScripts gathers the scripts of both forms, by group/Kind; a key of its
// own wins over the YAML of all.
func argoScripts(data map[string]string) (map[string]argoScript, error) {
	scripts := map[string]argoScript{}
	if err := yaml.Unmarshal([]byte(data[argoAll]), &scripts); err != nil {
		return nil, fmt.Errorf("argocd-cm: %s: %w", argoAll, err)
	}
	for key, value := range data {
		if name, ok := strings.CutPrefix(key, argoHealth); ok {
			s := scripts[argoKey(name)]
			s.Script = value
			scripts[argoKey(name)] = s
		}
	}
	for key, value := range data {
		if name, ok := strings.CutPrefix(key, argoOpenLibs); ok {
			s := scripts[argoKey(name)]
			s.OpenLibs = strings.TrimSpace(value) == "true"
			scripts[argoKey(name)] = s
		}
	}
	return scripts, nil
}

// argoKey makes group/Kind of the group_Kind in a ConfigMap's key.
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
	return lua.Compile(chunk, name)
}

// assess judges by the script for the object's kind, an exact one before one
// with wildcards. A script that gives no status leaves the verdict to others.
func (c *Customizations) assess(obj *unstructured.Unstructured) (Assessment, bool) {
	one, ok := c.find(obj.GroupVersionKind().Group, obj.GetKind())
	if !ok {
		return Assessment{}, false
	}
	rule := c.source + " " + one.key
	status, message, err := one.run(obj)
	if err != nil {
		return unusable(rule, fmt.Errorf("the Lua script cannot be run: %w", err)), true
	}
	if message == "" {
		message = status
	}
	a := Assessment{Reason: message, Rule: rule}
	switch status {
	case "":
		return Assessment{}, false
	case "Healthy":
		a.Verdict = Ready
	case "Progressing":
		a.Verdict = Progressing
	case "Suspended":
		a.Verdict, a.Health = Progressing, Suspended
		a = held(obj, a)
	case "Missing":
		a.Verdict, a.Health = Progressing, Absent
	case "Degraded":
		a.Verdict, a.Health = Failed, Degraded
	case "Unknown":
	default:
		a.Reason = fmt.Sprintf("the Lua script gave the status %q, which Argo CD does not know", status)
	}
	return a, true
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
