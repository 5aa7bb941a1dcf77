package input

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/sortorder"
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
//	ignoreFields:
//	- {kind: Deployment, fields: [spec.replicas]}
//
// An application selects resources like an entry of sortOrder, or lists external resources
// that are not in the stream. Its health rules and its stack's take precedence over the
// file's.
type stackFile struct {
	Stacks        []ordering.Stack
	ApplicationOf func(object.Meta) string
	Idle          func([]object.Meta) []error // returns errors for applications that select nothing
	externalOf    map[object.ID]string        // application by external resource
	Timeouts      []ordering.KindTimeout
	health        healthTree
	ignored       []ignoreRule
}

// read reads the fields.
func (f *stackFile) read(fields sortorder.Applier) error {
	err := errors.Join(f.readStacks(fields), f.readTimeouts(fields.Timeouts))
	f.health.add("", "health", fields.Health)
	return errors.Join(err, errors.Join(f.health.errs...), f.readIgnored(fields))
}

func (f *stackFile) readTimeouts(timeouts map[string]string) error {
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
func (f *stackFile) readStacks(fields sortorder.Applier) error {
	if fields.Stacks == nil {
		return nil
	}
	var errs []error
	var selecting applicationSelectors
	f.externalOf = map[object.ID]string{}
	for s, spec := range fields.Stacks {
		field := fmt.Sprintf("stacks[%d]", s)
		timeout, err := readDuration(field+".timeout", spec.Timeout)
		errs = append(errs, err, checkName(field, spec.Name))
		f.health.add(spec.Name, field+".health", spec.Health)
		stack := ordering.Stack{Name: spec.Name, DependsOn: spec.DependsOn, Timeout: timeout, Atomic: spec.Atomic}
		for a, app := range spec.Applications {
			field := fmt.Sprintf("%s.applications[%d]", field, a)
			read, err := readApp(field, app)
			errs = append(errs, err)
			name := spec.Name + "/" + read.Name
			f.health.add(name, field+".health", app.Health)
			stack.Applications = append(stack.Applications, read)
			for _, id := range read.External {
				f.externalOf[id] = name
			}
			if app.External == nil {
				selecting.add(name, field, app)
			}
		}
		f.Stacks = append(f.Stacks, stack)
	}
	err := selecting.compile(fields)
	f.ApplicationOf, f.Idle = selecting.of, selecting.idle
	return errors.Join(append(errs, checkDuplicateNames("stacks", f.Stacks), err)...)
}

// readApp reads an application without its selectors.
func readApp(field string, spec sortorder.Application) (ordering.App, error) {
	timeout, err := readDuration(field+".timeout", spec.Timeout)
	external, externalErr := readExternal(field, spec)
	app := ordering.App{Name: spec.Name, DependsOn: spec.DependsOn, Timeout: timeout, External: external}
	return app, errors.Join(err, checkName(field, spec.Name), externalErr)
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
