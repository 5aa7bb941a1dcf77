package health

import (
	_ "embed"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

const (
	rulesAPIVersion = "ordapply.dev/v1alpha1"
	rulesKind       = "HealthRules"
)

// Rules is a rules file. A nil *Rules has no rules.
type Rules struct {
	rules []rule
}

// rule says how objects of some kinds are judged. docs/health.md describes the
// fields.
type rule struct {
	Group      *string `json:"group"` // any when nil
	Kind       string  `json:"kind"`
	ReadyWhen  string  `json:"readyWhen"`
	FailedWhen string  `json:"failedWhen"`
	Source     string  `json:"source"` // where the project documents that status; not read

	DegradedWhen  string `json:"degradedWhen"`  // halts a run as failedWhen does
	UnknownWhen   string `json:"unknownWhen"`   // and so does this
	SuspendedWhen string `json:"suspendedWhen"` // not ready, for someone asks for that
	MissingWhen   string `json:"missingWhen"`   // not ready, for what it makes is not there

	place    string                     // in the file: rules[3]
	name     string                     // group/Kind
	compiled func() (conditions, error) // compiles once
}

type rulesFile struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Rules      []rule `json:"rules"`
}

//go:embed builtin.yaml
var builtinFile []byte

// builtin gives the rules that come with this package; their conditions are
// compiled when first needed, and stay.
var builtin = sync.OnceValue(func() *Rules {
	rules, err := readRules(builtinFile)
	if err != nil {
		panic(err) // a test reads them
	}
	return rules
})

// ParseRules reads a rules file and compiles every condition in it. All that
// is wrong is reported, each with its place: rules[3].readyWhen.
func ParseRules(data []byte) (*Rules, error) {
	rules, err := readRules(data)
	if err != nil {
		return nil, err
	}
	return rules, rules.compile()
}

func readRules(data []byte) (*Rules, error) {
	var is metav1.TypeMeta
	if err := yaml.Unmarshal(data, &is); err == nil && (is.APIVersion != rulesAPIVersion || is.Kind != rulesKind) {
		return nil, fmt.Errorf("it is no rules file but a %s of %s: apiVersion: %s and kind: %s are needed",
			orNothing(is.Kind), orNothing(is.APIVersion), rulesAPIVersion, rulesKind)
	}
	var file rulesFile
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "error unmarshaling JSON: while decoding JSON: json: "))
	}
	var errs []error
	for i := range file.Rules {
		file.Rules[i].place = fmt.Sprintf("rules[%d]", i)
		errs = append(errs, file.Rules[i].complete())
	}
	return &Rules{file.Rules}, errors.Join(errs...)
}

// complete checks what can be checked without compiling.
func (r *rule) complete() error {
	group := "*"
	if r.Group != nil {
		group = *r.Group
	}
	r.name = groupKind(group, r.Kind)
	switch {
	case r.Kind == "":
		return fmt.Errorf("%s.kind: it is missing; * stands for every kind", r.place)
	case r.ReadyWhen+r.FailedWhen+r.DegradedWhen+r.UnknownWhen+r.SuspendedWhen+r.MissingWhen == "":
		return fmt.Errorf("%s: it says nothing; give readyWhen, failedWhen or both", r.place)
	case strings.ContainsAny(group+r.Kind, `?[]\/`):
		return fmt.Errorf("%s: %s is no pattern for a kind: only * is special", r.place, r.name)
	}
	r.compiled = sync.OnceValues(r.compile)
	return nil
}

// compile compiles the conditions.
func (r *rule) compile() (conditions, error) {
	c := conditions{failedRule: "rule " + r.name, readyRule: "rule " + r.name}
	var errs []error
	for _, field := range []struct {
		name, source string
		into         **expression
	}{
		{"failedWhen", r.FailedWhen, &c.failed}, {"degradedWhen", r.DegradedWhen, &c.degraded}, {"unknownWhen", r.UnknownWhen, &c.unknown},
		{"readyWhen", r.ReadyWhen, &c.ready}, {"suspendedWhen", r.SuspendedWhen, &c.suspended}, {"missingWhen", r.MissingWhen, &c.missing},
	} {
		if field.source == "" {
			continue
		}
		var err error
		if *field.into, err = compile(field.source); err != nil {
			errs = append(errs, fmt.Errorf("%s.%s: %w", r.place, field.name, err))
		}
	}
	return c, errors.Join(errs...)
}

// groupKind is group/Kind, and Kind alone for the core group.
func groupKind(group, kind string) string {
	if group == "" {
		return kind
	}
	return group + "/" + kind
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

// compile compiles every rule, so that what is wrong shows at once.
func (rs *Rules) compile() error {
	var errs []error
	for _, r := range rs.rules {
		_, err := r.compiled()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// assess judges an object by the first rule that is for its kind and speaks.
func (rs *Rules) assess(obj *unstructured.Unstructured) (Assessment, bool) {
	if rs == nil {
		return Assessment{}, false
	}
	kind := obj.GroupVersionKind().GroupKind()
	for i := range rs.rules {
		r := &rs.rules[i]
		if !r.isFor(kind) {
			continue
		}
		p, err := r.compiled()
		if err != nil {
			return unusable("rule "+r.name, err), true
		}
		a, ok := p.assess(obj)
		if !ok || a.Verdict == Progressing && r.isWild() && isEmpty(obj.Object["status"]) {
			continue // a wildcard cannot promise that every kind has a status
		}
		return a, true
	}
	return Assessment{}, false
}

func (r *rule) isWild() bool { return strings.Contains(r.Kind, "*") }

func (r *rule) isFor(kind schema.GroupKind) bool {
	return (r.Group == nil || glob(*r.Group, kind.Group)) && glob(r.Kind, kind.Kind)
}

// glob matches a name; in the pattern, * stands for any run of characters.
func glob(pattern, name string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == name
	}
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}
