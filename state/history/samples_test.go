package history

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// samples are revisions that together use every stored field. Their streams
// are testdata/revisions/NAME.yaml.
func samples() map[string]ordering.Options {
	return map[string]ordering.Options{
		"stamps": {},
		"argocd": {OrderSource: ordering.OrderSourceArgoCD, SkipHooks: true},
		"charts": {Charts: []ordering.Chart{{
			Path: "foo", DependsOn: []string{"bar", "queue"},
			Dependencies: []ordering.Dependency{
				{Name: "nginx", Tags: []string{"front", "web"}},
				{Name: "rabbitmq", Alias: "queue"},
				{Name: "bar", DependsOn: []string{"front", "queue"}},
			},
		}}},
		"stacks": {
			PrerequisiteKinds: []string{"StorageClass"},
			Stacks: []ordering.Stack{
				{Name: "base", Timeout: time.Minute, Applications: []ordering.App{{Name: "db"}, {Name: "seed", DependsOn: []string{"db"}, Timeout: 90 * time.Second}}},
				{Name: "front", DependsOn: []string{"base"}, Applications: []ordering.App{{Name: "web", DependsOn: []string{"base/seed"}}}},
				{Name: "empty", DependsOn: []string{}},
			},
			ApplicationOf: func(m object.Meta) string {
				return map[string]string{"db": "base/db", "seed": "base/seed", "web": "front/web"}[m.Name]
			},
			KindTimeouts: []ordering.KindTimeout{{Kind: "Job.batch", Timeout: time.Hour}, {Kind: "Job", Timeout: time.Minute}},
		},
		"kapp": {NoPrerequisites: true},
	}
}

// sample returns a revision of samples.
func sample(t *testing.T, name string, options ordering.Options) Revision {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "revisions", name+".yaml"))
	require.NoError(t, err)
	all := resources(t, string(text))
	for i := range all {
		all[i].Source = name + ".yaml"
		if name == "charts" {
			all[i].Chart = chartOf(all[i].Name)
		}
	}
	r := revisionOf(t, all, options)
	r.OrderFile = "# of " + name + "\n"
	return r
}

// chartOf returns the chart that a resource of the sample charts was rendered
// from.
func chartOf(name string) string {
	if name == "foo" {
		return "foo"
	}
	folder, _, _ := strings.Cut(name, "-")
	if folder == "rabbitmq" {
		folder = "queue"
	}
	return "foo/charts/" + folder
}
