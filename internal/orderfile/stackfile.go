package orderfile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// stackFile is the part of a file of --order that groups resources into
// applications, and these into stacks. It stands next to, or instead of,
// sortOrder:
//
//	stacks:
//	- name: storage
//	  dependsOn: [foundation]
//	  atomic: true
//	  timeout: 30m
//	  applications:
//	  - {name: ceph-operator, labelSelector: {matchLabels: {app: rook}}}
//	  - {name: ceph, kind: CephCluster, dependsOn: [ceph-operator], timeout: 20m}
//	- name: platform
//	  applications:
//	  - {name: argocd, external: [{apiVersion: apps/v1, kind: Deployment, namespace: argocd, name: argocd-server}]}
//	timeouts: {CephCluster.ceph.rook.io: 30m}
//	health:
//	- {kind: CephCluster, readyWhen: self.status.phase == "Ready"}
//
// An application selects resources like an entry of sortOrder, or lists
// external resources that are not in the stream. It and its stack may have
// health rules, which take precedence over those of the file.
type stackFile struct {
	Stacks        []ordering.Stack
	ApplicationOf func(object.Meta) string
	Idle          func([]object.Meta) []error // returns errors for applications that select nothing
	externalOf    map[object.ID]string        // application by external resource
	Timeouts      []ordering.KindTimeout
	health        healthTree
}

// stackSpec and appSpec are the YAML form. Fields of an application that are
// not in appSpec belong to its selector.
type stackSpec struct {
	Name         string                       `json:"name"`
	DependsOn    []string                     `json:"dependsOn"`
	Timeout      string                       `json:"timeout"`
	Atomic       bool                         `json:"atomic"`
	Health       []json.RawMessage            `json:"health"`
	Applications []map[string]json.RawMessage `json:"applications"`
}

type appSpec struct {
	Name      string            `json:"name"`
	DependsOn []string          `json:"dependsOn"`
	Timeout   string            `json:"timeout"`
	Health    []json.RawMessage `json:"health"`
	Optional  bool              `json:"optional"`
	External  []externalSpec    `json:"external"`
}

// readStacksOf reads the stack fields of a file. ordered reports whether the
// file also has an order of its own.
func (f *stackFile) readStacksOf(text []byte) (ordered bool, err error) {
	var fields map[string]json.RawMessage
	if yaml.Unmarshal(text, &fields) != nil || fields["stacks"] == nil && fields["timeouts"] == nil && fields["health"] == nil {
		return true, nil
	}
	ordered = slices.ContainsFunc([]string{"sortOrder", "layers", "typeOrder"}, func(name string) bool { return fields[name] != nil })
	return ordered, errors.Join(f.readStacks(fields["stacks"]), f.readTimeouts(fields["timeouts"]), f.health.readFile(fields["health"]), f.health.compile())
}

func (f *stackFile) readTimeouts(raw json.RawMessage) error {
	var timeouts map[string]string
	if raw == nil {
		return nil
	}
	if err := json.Unmarshal(raw, &timeouts); err != nil {
		return errors.New("timeouts: must map kinds to durations, such as {Job: 10m}")
	}
	var errs []error
	kinds := slices.SortedFunc(maps.Keys(timeouts), func(a, b string) int { // "Kind.group" before "Kind": the first match is used
		return cmp.Or(cmp.Compare(strings.Count(b, "."), strings.Count(a, ".")), strings.Compare(a, b))
	})
	for _, kind := range kinds {
		d, err := parseDuration("timeouts."+kind, timeouts[kind])
		errs = append(errs, err)
		f.Timeouts = append(f.Timeouts, ordering.KindTimeout{Kind: kind, Timeout: d})
	}
	return errors.Join(errs...)
}

// readDuration returns 0 for an omitted field.
func readDuration(field, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	return parseDuration(field, text)
}

func parseDuration(field, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%s: %q is not a duration such as 5m", field, text)
	}
	return d, nil
}

// readStacks reads stacks and combines the selectors of all applications into
// one SortOrder, which decides the application of a resource.
func (f *stackFile) readStacks(raw json.RawMessage) error {
	var specs []stackSpec
	if raw == nil {
		return nil
	}
	if err := yaml.UnmarshalStrict(raw, &specs); err != nil {
		return fmt.Errorf("stacks: %w", err)
	}
	var errs []error
	var selecting applicationSelectors
	f.externalOf = map[object.ID]string{}
	for s, spec := range specs {
		field := fmt.Sprintf("stacks[%d]", s)
		timeout, err := readDuration(field+".timeout", spec.Timeout)
		errs = append(errs, err, checkName(field, spec.Name))
		f.health.add(spec.Name, field, spec.Health)
		stack := ordering.Stack{Name: spec.Name, DependsOn: spec.DependsOn, Timeout: timeout, Atomic: spec.Atomic}
		for a, app := range spec.Applications {
			field := fmt.Sprintf("%s.applications[%d]", field, a)
			read, err := readApp(field, app)
			errs = append(errs, err)
			name := spec.Name + "/" + read.Name
			f.health.add(name, field, read.Health)
			stack.Applications = append(stack.Applications, read.App)
			for _, id := range read.External {
				f.externalOf[id] = name
			}
			if !read.external {
				selecting.add(name, field, app, read.optional)
			}
		}
		f.Stacks = append(f.Stacks, stack)
	}
	err := selecting.compile()
	f.ApplicationOf, f.Idle = selecting.of, selecting.idle
	return errors.Join(append(errs, checkDuplicateNames("stacks", f.Stacks), err)...)
}

// application is a parsed application.
type application struct {
	ordering.App
	Health   []json.RawMessage
	optional bool
	external bool // its resources are not in the stream
}

// readApp reads an application's own fields and leaves those of its selector in
// raw.
func readApp(field string, raw map[string]json.RawMessage) (application, error) {
	own := map[string]json.RawMessage{}
	for _, key := range []string{"name", "dependsOn", "timeout", "health", "optional", "external"} {
		if value, ok := raw[key]; ok {
			own[key] = value
			delete(raw, key)
		}
	}
	for _, key := range []string{"layer", "gate", "unmatched"} {
		if _, ok := raw[key]; ok {
			return application{}, fmt.Errorf("%s.%s: not a field of an application, which selects resources by matchAnnotations, matchExpressions, labelSelector, group, kind, namespace or resourceName", field, key)
		}
	}
	if name, ok := raw["resourceName"]; ok { // in raw, "name" is the application's name
		raw["name"] = name
		delete(raw, "resourceName")
	}
	text, err := json.Marshal(own)
	if err != nil {
		return application{}, err
	}
	var spec appSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return application{}, fmt.Errorf("%s: %w", field, err)
	}
	timeout, err := readDuration(field+".timeout", spec.Timeout)
	external, externalErr := readExternal(field, spec, raw)
	app := ordering.App{Name: spec.Name, DependsOn: spec.DependsOn, Timeout: timeout, External: external}
	return application{app, spec.Health, spec.Optional, spec.External != nil}, errors.Join(err, checkName(field, spec.Name), externalErr)
}

func checkName(field, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%s: name is missing", field)
	case strings.Contains(name, "/"):
		return fmt.Errorf("%s: name %q: must not contain a slash, which separates stack and application", field, name)
	}
	return nil
}

// checkDuplicateNames returns errors for duplicate names of stacks, and of applications of a
// stack.
func checkDuplicateNames(field string, stacks []ordering.Stack) error {
	var errs []error
	seen := map[string]bool{}
	for s, stack := range stacks {
		if seen[stack.Name] {
			errs = append(errs, fmt.Errorf("%s[%d]: duplicate stack %s", field, s, stack.Name))
		}
		seen[stack.Name] = true
		for a, app := range stack.Applications {
			if name := stack.Name + "/" + app.Name; seen[name] {
				errs = append(errs, fmt.Errorf("%s[%d].applications[%d]: duplicate application %s", field, s, a, name))
			} else {
				seen[name] = true
			}
		}
	}
	return errors.Join(errs...)
}
