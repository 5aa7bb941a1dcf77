// Package plancase reads the streams and options of test cases about plans: txtar
// files with a stream.yaml and, if it is needed, an options.yaml.
//
//	resources, options := plancase.Input(t, archive)
//	plan, err := planner.Build(resources, options)
package plancase

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/bigstream"
)

// Input returns the resources of stream.yaml and the options of options.yaml.
func Input(t *testing.T, archive *txtar.Archive) (resources []ordering.Resource, options ordering.Options) {
	t.Helper()
	for _, file := range archive.Files {
		switch file.Name {
		case "stream.yaml":
			resources = Parse(t, file.Data)
		case "options.yaml":
			options = readOptions(t, file.Data)
		}
	}
	leaveOut := func(r ordering.Resource) bool {
		return options.Excluded != nil && r.Labels["app"] == options.Excluded[0].Name
	}
	left := slices.DeleteFunc(slices.Clone(resources), func(r ordering.Resource) bool { return !leaveOut(r) })
	resources = slices.DeleteFunc(resources, leaveOut)
	options.Excluded = left
	return resources, options
}

// Parse returns the resources of a stream of YAML documents.
func Parse(t testing.TB, stream []byte) []ordering.Resource {
	t.Helper()
	var resources []ordering.Resource
	for i, doc := range strings.Split(string(stream), "---\n") {
		var obj map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(doc), &obj))
		r := Resource(obj)
		r.Source = fmt.Sprintf("stream.yaml, document %d", i+1)
		if source := regexp.MustCompile(`(?m)^# Source: (.+)/templates/`).FindStringSubmatch(doc); source != nil {
			r.Chart = source[1]
		}
		resources = append(resources, r)
	}
	return resources
}

// Resource returns the resource of a manifest.
func Resource(obj map[string]any) ordering.Resource {
	meta, _ := obj["metadata"].(map[string]any)
	group, version := object.SplitAPIVersion(fmt.Sprint(obj["apiVersion"]))
	r := ordering.Resource{Object: obj, Meta: object.Meta{Version: version, Labels: texts(meta["labels"]), Annotations: texts(meta["annotations"])}}
	r.Group, r.Kind, r.Name = group, fmt.Sprint(obj["kind"]), fmt.Sprint(meta["name"])
	r.Namespace, _ = meta["namespace"].(string)
	return r
}

func texts(v any) map[string]string {
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	out := map[string]string{}
	for k, v := range m {
		out[k] = fmt.Sprint(v)
	}
	return out
}

// optionsFile is options.yaml. Applications select by the label app. Resources
// with the label of leaveOut are not part of the plan.
type optionsFile struct {
	LeaveOut          string
	Frame             string
	SkipHooks         bool
	NoPrerequisites   bool
	PrerequisiteKinds []string
	Charts            []ordering.Chart
	Timeouts          map[string]string
	Stacks            []struct {
		Name         string
		DependsOn    []string
		Timeout      string
		Atomic       bool
		Applications []struct {
			Name      string
			DependsOn []string
			Label     map[string]string
			Timeout   string
			External  []object.ID
		}
	}
}

func readOptions(t *testing.T, text []byte) ordering.Options {
	t.Helper()
	var file optionsFile
	require.NoError(t, yaml.UnmarshalStrict(text, &file))
	options := ordering.Options{
		OrderSource: ordering.OrderSource(file.Frame), SkipHooks: file.SkipHooks, NoPrerequisites: file.NoPrerequisites,
		PrerequisiteKinds: file.PrerequisiteKinds, Charts: file.Charts,
	}
	duration := func(text string) time.Duration {
		if text == "" {
			return 0
		}
		d, err := time.ParseDuration(text)
		require.NoError(t, err)
		return d
	}
	for kind, timeout := range file.Timeouts {
		options.KindTimeouts = append(options.KindTimeouts, ordering.KindTimeout{Kind: kind, Timeout: duration(timeout)})
	}
	for _, s := range file.Stacks {
		stack := ordering.Stack{Name: s.Name, DependsOn: s.DependsOn, Timeout: duration(s.Timeout), Atomic: s.Atomic}
		for _, a := range s.Applications {
			stack.Applications = append(stack.Applications, ordering.App{Name: a.Name, DependsOn: a.DependsOn, Timeout: duration(a.Timeout), External: a.External})
		}
		options.Stacks = append(options.Stacks, stack)
	}
	if file.LeaveOut != "" {
		options.Excluded = []ordering.Resource{{Meta: object.Meta{ID: object.ID{Name: file.LeaveOut}}}}
	}
	options.ApplicationOf = func(m object.Meta) string {
		for _, s := range file.Stacks {
			for _, a := range s.Applications {
				if m.Labels["app"] == a.Label["app"] {
					return s.Name + "/" + a.Name
				}
			}
		}
		return ""
	}
	return options
}

// ManyApplications returns a stream of about n resources.
func ManyApplications(n int) []ordering.Resource {
	var out []ordering.Resource
	for _, obj := range bigstream.Applications(n) {
		out = append(out, Resource(obj))
	}
	return out
}
