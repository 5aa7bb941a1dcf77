package hook

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/manifest"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Each testdata/*.txtar is one rule: a stream, and the hooks of each event,
// in order.
func TestSequences(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			require.NoError(t, err)
			source := ordering.OrderSourceAuto
			if strings.HasPrefix(filepath.Base(path), "argocd_") {
				source = ordering.OrderSourceArgoCD
			}
			all, dropped := Read(stream(t, archive.Files[0].Data), source)
			got := asText(all, dropped)
			if os.Getenv("ORDAPPLY_GOLDEN") != "" {
				archive.Files[1].Data = []byte(got)
				require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
			}
			require.Equal(t, string(archive.Files[1].Data), got)
		})
	}
}

// stream reads manifests.
func stream(t *testing.T, text []byte) []ordering.Resource {
	t.Helper()
	manifests, err := manifest.Read("stream.yaml", bytes.NewReader(text))
	require.NoError(t, err)
	var out []ordering.Resource
	for _, m := range manifests {
		gvk := schema.FromAPIVersionAndKind(m.GetAPIVersion(), m.GetKind())
		out = append(out, ordering.Resource{
			Meta:   object.Meta{ID: object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: m.GetNamespace(), Name: cmp.Or(m.GetName(), m.GetGenerateName())}, Version: gvk.Version, Annotations: m.GetAnnotations()},
			Object: m.Object,
		})
	}
	return out
}

// A hook of Helm that names an event twice runs twice, one run after the other.
func TestAnEventThatIsNamedTwice(t *testing.T) {
	hook, err := Parse(ordering.Resource{Meta: object.Meta{Annotations: map[string]string{EventAnnotation: "pre-install,pre-install"}}})
	require.NoError(t, err)
	require.Len(t, Batches(Hooks{hook}.Of(PreInstall), PreInstall), 2)
}

// asText returns the hooks of each event as text.
func asText(all Hooks, dropped []error) string {
	var b strings.Builder
	for _, event := range Events() {
		if list := all.Of(event); len(list) > 0 {
			fmt.Fprintf(&b, "%s:", event)
			for _, hook := range list {
				fmt.Fprintf(&b, " %s/%s", hook.Kind, hook.Name)
			}
			if all.AreArgo() {
				fmt.Fprintf(&b, "; batches: %d", len(Batches(all.Of(event), event)))
			}
			b.WriteString("\n")
		}
	}
	for _, err := range dropped {
		name, why, _ := strings.Cut(err.Error(), ": ")
		why, _, _ = strings.Cut(why, ", and Helm neither")
		fmt.Fprintf(&b, "dropped: %s: %s\n", name, why)
	}
	return b.String()
}

// A hook without a name gets one for each event, and is recognized by it.
func TestNamed(t *testing.T) {
	all, _ := Read(stream(t, []byte(`{apiVersion: batch/v1, kind: Job, metadata: {generateName: m-, namespace: a, annotations: {argocd.argoproj.io/hook: "PreSync,PostSync"}}}`)), ordering.OrderSourceArgoCD)
	named := all.Named(time.UnixMilli(1234567890123))
	require.Equal(t, []string{"m-presync-1234567890123", "m-postsync-1234567890123"}, []string{named[0].ID.Name, named[1].ID.Name})
	require.Len(t, named.Of(PreSync), 1)
	require.Equal(t, "m-", named[0].Planned.Name)
	for _, hook := range named {
		ran, is := all[0].RanAs(hook.ID)
		require.True(t, is)
		require.Equal(t, hook.Events, ran.Events)
	}
	for _, name := range []string{"m-", "m-sync-1", "m-presync-x", "other-presync-1"} {
		_, is := all[0].RanAs(object.ID{Group: "batch", Kind: "Job", Namespace: "a", Name: name})
		require.False(t, is, name)
	}
}

func resource(annotations map[string]string) ordering.Resource {
	return ordering.Resource{Meta: object.Meta{ID: object.ID{Kind: "ConfigMap", Name: "a"}, Annotations: annotations}}
}

// Helm parses weights with strconv.Atoi, and uses 0 where that fails.
func TestWeights(t *testing.T) {
	for text, want := range map[string]int{"": 0, "5": 5, "-5": -5, "+2": 2, "abc": 0, "1.5": 0, " 3": 0, "99999999999999999999": 0} {
		hook, err := Parse(resource(map[string]string{EventAnnotation: "test", WeightAnnotation: text}))
		require.NoError(t, err)
		require.Equal(t, want, hook.Weight, "%q", text)
	}
}

// The default applies only without an annotation: an unknown policy means no
// policy at all.
func TestPolicies(t *testing.T) {
	for text, want := range map[string][]Policy{
		"-":                                      {BeforeCreation},
		"":                                       {""},
		"never":                                  {"never"},
		" Hook-Succeeded , before-hook-creation": {OnSuccess, BeforeCreation},
	} {
		annotations := map[string]string{EventAnnotation: "test", DeleteAnnotation: text}
		if text == "-" {
			delete(annotations, DeleteAnnotation)
		}
		hook, err := Parse(resource(annotations))
		require.NoError(t, err)
		require.Equal(t, want, hook.Policies, "%q", text)
	}
}

// Hooks with different weights and names run in the same order, in any order of
// the documents.
func TestOrderDoesNotDependOnTheDocuments(t *testing.T) {
	var all Hooks
	for i := range 40 {
		r := ordering.Resource{Meta: object.Meta{ID: object.ID{Kind: []string{"Job", "Secret", "Widget"}[i%3], Name: fmt.Sprintf("h%02d", i)}}}
		all = append(all, Hook{Resource: r, Events: []Event{PreInstall}, Weight: i % 4})
	}
	want := all.Of(PreInstall)
	for range 50 {
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		require.Equal(t, want, all.Of(PreInstall))
	}
}

// Parsing any annotation succeeds or drops the hook.
func FuzzParse(f *testing.F) {
	f.Add("pre-install,post-install", "5", "hook-succeeded")
	f.Add("", "", "")
	f.Add(", ,", "+", ",")
	f.Fuzz(func(t *testing.T, events, weight, policies string) {
		hook, err := Parse(resource(map[string]string{EventAnnotation: events, WeightAnnotation: weight, DeleteAnnotation: policies}))
		if err != nil {
			return
		}
		require.NotEmpty(t, hook.Events)
		require.NotEmpty(t, hook.Policies)
		for _, event := range hook.Events {
			require.Contains(t, Events(), event)
			require.NotEmpty(t, Hooks{hook}.Of(event))
		}
	})
}
