package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/internal/author/draft"
	"github.com/ordapply/ordapply/internal/author/lint"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/sortorder"
	"github.com/ordapply/ordapply/test/corpora"
	"github.com/ordapply/ordapply/test/plancase"
	"github.com/ordapply/ordapply/test/seeds"
)

// The order that init writes for a real stream gives a plan, and vet finds no more with it.
func TestInitOfRealStreams(t *testing.T) {
	folder := corpora.Need(t)
	for name, want := range plannedStreams() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(folder, name+".yaml")
			if want.generated+want.nameless > 0 { // nothing can plan it whole
				code, output := offlineRun("init", "-f", path)
				require.Equal(t, report.ExitFailed, code)
				require.Contains(t, output, "metadata.generateName")
				resources := readable(t, path, false)
				requireSound(t, resources, ordering.Options{})
				return
			}
			requireInit(t, "-f", path)
		})
	}
}

// The files with ordering annotations of other tools, as far as they are plans.
func TestInitOfRealAnnotations(t *testing.T) {
	folder := annotatedFolder(t)
	for _, c := range annotated() {
		if c.refused || c.deletes && len(c.flags) == 0 {
			continue
		}
		t.Run(c.files[0], func(t *testing.T) {
			args := c.flags
			for _, file := range c.files {
				args = append(args, "-f", filepath.Join(folder, c.folder, file))
			}
			requireInit(t, args...)
		})
	}
}

func TestInitOfExamples(t *testing.T) {
	examples := filepath.Join("..", "..", "examples")
	shop, err := filepath.Glob(filepath.Join(examples, "shop", "*.yaml"))
	require.NoError(t, err)
	var files []string
	for _, file := range shop {
		if base := filepath.Base(file); base != "kustomization.yaml" && base != "order.yaml" {
			files = append(files, "-f", file)
		}
	}
	for name, args := range map[string][]string{
		"bookshop":    {"-k", filepath.Join(examples, "bookshop")},
		"plain":       {"-f", filepath.Join(examples, "plain", "app.yaml")},
		"platform":    {"-f", filepath.Join(examples, "platform", "platform.yaml")},
		"shop":        files,
		"argocd":      {"-f", filepath.Join(examples, "migrate", "argocd", "app.yaml")},
		"kapp":        {"-f", filepath.Join(examples, "migrate", "kapp", "app.yaml")},
		"flux":        {"-f", filepath.Join(examples, "migrate", "flux", "before.yaml")},
		"helm before": {"-f", filepath.Join(examples, "migrate", "helm", "before.yaml")},
		"wait":        {"-f", filepath.Join(examples, "migrate", "wait", "before.yaml")},
	} {
		t.Run(name, func(t *testing.T) { requireInit(t, args...) })
	}
}

// requireInit writes an order for the manifests that flags name, and checks its plan.
func requireInit(t *testing.T, args ...string) {
	t.Helper()
	order := filepath.Join(t.TempDir(), "order.yaml")
	code, output := offlineRun(append([]string{"init", "-o", order}, args...)...)
	require.Equal(t, report.ExitDone, code, output)
	written, err := os.ReadFile(order)
	require.NoError(t, err)
	code, output = offlineRun(append([]string{"plan", "--dry-run=client", "--order", order}, args...)...)
	require.Equal(t, report.ExitDone, code, "%s\n%s", output, written)
	require.NotContains(t, output, "warning", "%s", written)
	_, without := offlineRun(append([]string{"vet", "--strict"}, args...)...)
	_, with := offlineRun(append([]string{"vet", "--strict", "--order", order}, args...)...)
	for line := range strings.Lines(with) {
		if !strings.Contains(without, line) && !strings.HasPrefix(line, "still reading ") && !strings.Contains(line, "a SortOrder's stamps take precedence") && !strings.HasPrefix(line, "error: ") && !strings.Contains(line, "metadata.namespace is removed") { // hooks of Argo CD are resources then
			require.Fail(t, "a finding about the order", "%s\n%s", line, written)
		}
	}
}

// For random streams with random labels, the order is valid, every selector matches, the
// plan exists, and vet finds nothing that it does not find without the order.
func TestInitIsSound(t *testing.T) {
	for seed := range seeds.UpTo(1500) {
		random := rand.New(rand.NewPCG(seed, 3))
		w := plancase.NewWorld(seed)
		w.Options.Stacks, w.Options.ApplicationOf = nil, nil
		keys := []string{"tier", "app.kubernetes.io/part-of", "app"}[:random.IntN(4)]
		values := []string{"db", "web", "api", "x", "yes", "1"}[:1+random.IntN(6)]
		for _, r := range w.Resources {
			for _, key := range stamp.Keys() {
				delete(r.Annotations, key)
			}
			delete(r.Labels, "name")
			for _, key := range keys {
				if random.IntN(4) > 0 {
					r.Labels[key] = values[random.IntN(len(values))]
				}
			}
		}
		if _, err := planner.Build(w.Resources, w.Options); err == nil {
			t.Run(fmt.Sprint(seed), func(t *testing.T) { requireSound(t, w.Resources, w.Options) })
		}
	}
}

// requireSound proposes an order for resources and checks its plan.
func requireSound(t *testing.T, resources []ordering.Resource, options ordering.Options) {
	t.Helper()
	order, err := draft.Propose(resources, options, "first")
	require.NoError(t, err)
	text := order.YAML()
	parsed, err := sortorder.Parse(text)
	require.NoError(t, err, "%s", text)
	require.Empty(t, parsed.Warnings)
	metas := make([]object.Meta, len(resources))
	for i, r := range resources {
		metas[i] = r.Meta
	}
	placements := parsed.Place(metas)
	require.Empty(t, parsed.UnusedSelectorProblems(placements, metas), "%s", text)
	stamped := make([]ordering.Resource, len(resources))
	for i, r := range resources {
		annotations := fn.Stamp(parsed.Name, placements[i])
		for key, value := range r.Annotations {
			annotations[key] = value
		}
		stamped[i] = r
		stamped[i].Annotations = annotations
	}
	known := map[string]bool{}
	for _, source := range []ordering.OrderSource{ordering.OrderSourceAuto, ordering.OrderSourceNone} {
		unordered := options
		unordered.OrderSource, unordered.NoPrerequisites = source, source == ordering.OrderSourceNone || options.NoPrerequisites
		for _, f := range lint.Check(resources, unordered) {
			known[about(f.Text)] = true
		}
	}
	for _, f := range lint.Check(stamped, options) {
		if !known[about(f.Text)] && !strings.Contains(f.Text, "a SortOrder's stamps take precedence") {
			require.Fail(t, "a finding about the order", "%s\n%s", f.Text, text)
		}
	}
}

// about returns the subject of a finding, without the edges or layers that explain it.
func about(finding string) string {
	finding, _, _ = strings.Cut(finding, ", but ")
	finding, _, _ = strings.Cut(finding, "): ")
	return finding
}
