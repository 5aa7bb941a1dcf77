package ordering_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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
)

// Each testdata/*.txtar tests one rule: stream.yaml is the input, with optional
// options.yaml; "plan", "needs" or "error" is the expected output. "needs" is
// the plan as a scheduler reads it. `make golden` updates the outputs.
func TestBuild(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			require.NoError(t, err)
			last := len(archive.Files) - 1
			require.GreaterOrEqual(t, last, 1)
			resources, options := input(t, archive)
			name, got := outcome(resources, options, archive.Files[last].Name)
			if os.Getenv("ORDAPPLY_GOLDEN") != "" {
				archive.Files[last] = txtar.File{Name: name, Data: []byte(got)}
				require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
			}
			require.Equal(t, archive.Files[last].Name, name, got)
			require.Equal(t, string(archive.Files[last].Data), got)
			for range 20 {
				rand.Shuffle(len(resources), func(i, j int) { resources[i], resources[j] = resources[j], resources[i] })
				_, again := outcome(resources, options, name)
				require.Equal(t, got, again, "the order of the stream must not matter")
			}
		})
	}
}

// outcome returns the result of Build as text, and its kind: the plan, its
// needs if want says so, or the error.
func outcome(resources []ordering.Resource, options ordering.Options, want string) (name, text string) {
	plan, err := ordering.Build(resources, options)
	if err != nil {
		return "error", err.Error() + "\n"
	}
	if want == "needs" {
		return want, needs(plan)
	}
	var b bytes.Buffer
	if err := plan.WriteText(&b); err != nil {
		return "error", err.Error()
	}
	return "plan", b.String()
}

func needs(plan *ordering.Plan) string {
	var b strings.Builder
	for _, s := range plan.Steps {
		fmt.Fprintf(&b, "%s: wave %d, gate %s", s.ID, s.Wave+1, s.Gate)
		if s.ReadyBy != s.Wave {
			fmt.Fprintf(&b, ", ready by wave %d", s.ReadyBy+1)
		}
		if s.Timeout > 0 {
			fmt.Fprintf(&b, ", timeout %s", s.Timeout)
		}
		for _, l := range s.Layers {
			fmt.Fprintf(&b, ", in %s", plan.Layers[l].Name)
		}
		b.WriteString("\n")
		writeNeeds(&b, plan, s.Needs, s.After)
		for _, n := range s.External {
			fmt.Fprintf(&b, "  external %s, %s (%s)\n", n.ID, n.Gate, n.Why)
		}
	}
	for _, l := range plan.Layers {
		fmt.Fprintf(&b, "layer %s: %s, gate %s", l.Name, l.Kind, l.Gate)
		if l.Within >= 0 {
			fmt.Fprintf(&b, ", within %s", plan.Layers[l.Within].Name)
		}
		if l.Timeout > 0 {
			fmt.Fprintf(&b, ", timeout %s", l.Timeout)
		}
		b.WriteString("\n")
		writeNeeds(&b, plan, nil, l.After)
	}
	for _, d := range plan.Dropped {
		fmt.Fprintf(&b, "dropped %s -> %s (%s)", d.Need.ID, d.ID, d.Need.Why)
		for _, e := range d.Because {
			fmt.Fprintf(&b, "; %s", e)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func writeNeeds(b *strings.Builder, plan *ordering.Plan, needs []ordering.Need, after []ordering.Barrier) {
	for _, n := range needs {
		kind := "needs"
		if n.Hard {
			kind = "hard"
		}
		fmt.Fprintf(b, "  %s %s, %s (%s)\n", kind, n.ID, n.Gate, n.Why.Located())
	}
	for _, a := range after {
		fmt.Fprintf(b, "  after %s (%s)\n", plan.Layers[a.Layer].Name, a.Why)
	}
}

func input(t *testing.T, archive *txtar.Archive) (resources []ordering.Resource, options ordering.Options) {
	t.Helper()
	for _, file := range archive.Files {
		switch file.Name {
		case "stream.yaml":
			resources = parse(t, file.Data)
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

func parse(t testing.TB, stream []byte) []ordering.Resource {
	t.Helper()
	var resources []ordering.Resource
	for i, doc := range strings.Split(string(stream), "---\n") {
		var obj map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(doc), &obj))
		r := resource(obj)
		r.Source = fmt.Sprintf("stream.yaml, document %d", i+1)
		if source := regexp.MustCompile(`(?m)^# Source: (.+)/templates/`).FindStringSubmatch(doc); source != nil {
			r.Chart = source[1]
		}
		resources = append(resources, r)
	}
	return resources
}

func resource(obj map[string]any) ordering.Resource {
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
