package main

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/manifest"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/test/corpora"
)

// planned is the expected plan of a real stream. The counts were measured
// independently of this program.
type planned struct {
	resources, waves int
	crs              int // custom resources whose CRD is in the stream
	intercepted      int // by a webhook whose backend is in the stream; -1 if not counted
	generated        int // objects with generateName, which cannot be planned
	nameless         int // objects without any name
}

func plannedStreams() map[string]planned {
	return map[string]planned{
		"argo-cd":           {resources: 61, waves: 2, crs: 2},
		"argo-workflows":    {resources: 85, waves: 2, crs: 29, generated: 79, nameless: 1},
		"cert-manager":      {resources: 52, waves: 3, crs: 1, intercepted: 1},
		"cloudnative-pg":    {resources: 37, waves: 3, crs: 7, intercepted: 5},
		"external-secrets":  {resources: 57, waves: 3, crs: 10, intercepted: 7},
		"flux":              {resources: 46, waves: 2, crs: 11},
		"gatekeeper":        {resources: 46, waves: 4, crs: 8, intercepted: -1},
		"jobset":            {resources: 39, waves: 3, crs: 19, intercepted: 19},
		"knative-serving":   {resources: 77, waves: 3, crs: 3, intercepted: 2, generated: 1},
		"kube-prometheus":   {resources: 131, waves: 2, crs: 23},
		"metallb":           {resources: 62, waves: 3, crs: 8, intercepted: 8},
		"online-boutique":   {resources: 40, waves: 1},
		"postgres-operator": {resources: 42, waves: 2, crs: 7},
		"rook-ceph":         {resources: 158, waves: 2, crs: 11},
	}
}

// Every real stream is planned, and its plan agrees with independent facts
// about it. Objects with generateName are errors that name each, and the rest
// is planned without them.
func TestPlansOfRealStreams(t *testing.T) {
	folder := corpora.Need(t)
	for name, want := range plannedStreams() {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(folder, name+".yaml")
			if want.generated > 0 {
				code, printed := offlineRun("plan", "--dry-run=client", "-f", path)
				require.Equal(t, report.ExitFailed, code)
				require.Equal(t, want.generated, strings.Count(printed, "metadata.generateName creates a new object on each run"))
				require.Equal(t, want.nameless, strings.Count(printed, "metadata.name is missing"))
				require.Equal(t, want.generated+want.nameless, strings.Count(printed, "error: "))
			}
			resources := readable(t, path, want.generated+want.nameless == 0)
			plan, err := planner.Build(resources, ordering.Options{})
			require.NoError(t, err)
			require.Len(t, plan.Steps, want.resources)
			require.Len(t, plan.Waves, want.waves)
			require.Empty(t, plan.Dropped)
			require.Empty(t, plan.Notes)
			requireTrueOf(t, resources, plan, want)
			rand.Shuffle(len(resources), func(i, j int) { resources[i], resources[j] = resources[j], resources[i] })
			again, err := planner.Build(resources, ordering.Options{})
			require.NoError(t, err)
			require.Equal(t, plan, again)
		})
	}
}

// readable returns the objects of a stream that have a name; all of them if
// whole is set.
func readable(t *testing.T, path string, whole bool) []ordering.Resource {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	manifests, err := manifest.Read(filepath.Base(path), bytes.NewReader(data))
	require.Equal(t, whole, err == nil)
	var inputs []apply.Input
	for _, m := range manifests {
		inputs = append(inputs, apply.Input{Object: m.Unstructured, Source: m.Source})
	}
	stream, err := apply.NewStream(inputs, apply.Scope{Namespace: "default"})
	require.NoError(t, err)
	return stream.Resources
}

// requireTrueOf checks a plan against the API server's requirements.
func requireTrueOf(t *testing.T, resources []ordering.Resource, plan *ordering.Plan, want planned) {
	t.Helper()
	wave := map[object.ID]int{}
	intercepted := 0
	for _, s := range plan.Steps {
		wave[s.ID] = s.Wave
		if slices.ContainsFunc(s.Needs, func(n ordering.Need) bool { return n.Why.Rule == "webhook" }) {
			intercepted++
		}
	}
	definers := map[string]object.ID{}
	for _, r := range resources {
		if r.Kind == "CustomResourceDefinition" {
			group, _, _ := unstructured.NestedString(r.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(r.Object, "spec", "names", "kind")
			definers[kind+"."+group] = r.ID
		}
	}
	crs := 0
	for _, r := range resources {
		if crd, ok := definers[r.Kind+"."+r.Group]; ok {
			crs++
			require.Less(t, wave[crd], wave[r.ID], "%s before its CRD is served", r.ID)
		}
		if namespace, ok := wave[object.ID{Kind: "Namespace", Name: r.Namespace}]; ok && r.Namespace != "" {
			require.LessOrEqual(t, namespace, wave[r.ID], "%s before its Namespace", r.ID)
		}
	}
	require.Equal(t, want.crs, crs)
	if want.intercepted >= 0 {
		require.Equal(t, want.intercepted, intercepted)
	}
}

// Every file with another tool's ordering annotations is planned as that tool
// interprets it, or rejected with the correct error. Files that belong together
// are one stream.
func TestPlansOfRealAnnotations(t *testing.T) {
	folder := annotatedFolder(t)
	seen := map[string]bool{}
	for _, c := range annotated() {
		t.Run(c.files[0], func(t *testing.T) {
			args := append([]string{"plan", "--dry-run=client"}, c.flags...)
			for _, file := range c.files {
				path := filepath.Join(folder, c.folder, file)
				seen[path] = true
				args = append(args, "-f", path)
			}
			code, printed := offlineRun(args...)
			if c.refused {
				require.Equal(t, report.ExitFailed, code, printed)
			} else {
				require.Equal(t, report.ExitDone, code, printed)
			}
			for _, line := range c.says {
				require.Contains(t, printed, line)
				printed = printed[strings.Index(printed, line)+len(line):] // in this order
			}
		})
	}
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if strings.HasSuffix(path, "ml") {
			require.True(t, seen[path], "%s is not tried", path)
		}
		return err
	})
	require.NoError(t, err)
}

// annotatedFolder returns the folder of the annotated files, and skips a test without it: make
// corpora renders streams only.
func annotatedFolder(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(corpora.Need(t), "ordering-annotations")
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("%s is skipped: %v", t.Name(), err)
	}
	return folder
}

// offlineRun runs a command without a cluster and returns its exit code and
// output.
func offlineRun(args ...string) (int, string) {
	var out syncBuffer
	return run(context.Background(), args, nil, &out, &out), out.String()
}

// syncBuffer is a buffer to which a command and its notices about slow steps write.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns the written text.
func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// annotatedFiles are files with one tool's annotations.
type annotatedFiles struct {
	folder  string
	files   []string
	flags   []string
	refused bool
	deletes bool     // a hook runs at the deletion only, which no order but Argo CD's has
	says    []string // in this order
}

func annotated() []annotatedFiles {
	argo, kapp := "argoproj+argo-cd/test/e2e/testdata", "carvel-dev+kapp/examples"
	kpt, catalog := "kptdev+kpt", "kptdev+krm-functions-catalog/examples"
	return []annotatedFiles{
		// PostDelete and PreDelete hooks run when an application is deleted.
		{folder: argo, files: []string{"post-delete-hook/hook.yaml"}, deletes: true, says: []string{"post-delete hook Pod default/hook, wave 0"}},
		{folder: argo, files: []string{"post-delete-hook/hook.yaml"}, flags: []string{"--hooks=skip"}, says: []string{"left out: Pod default/hook (annotation argocd.argoproj.io/hook: PostDelete"}},
		{folder: argo, files: []string{"pre-delete-hook/hook.yaml"}, deletes: true, says: []string{"pre-delete hook"}},
		// Phases and waves.
		{folder: argo, files: []string{"hook-and-deployment/hook.yaml"}, says: []string{"(Sync wave 0)", "Sync hook Job default/my-hook"}},
		{folder: argo, files: []string{"hook-custom-health/config-map.yaml"}, says: []string{"PreSync hook ConfigMap default/my-map, wave 0"}},
		{folder: argo, files: []string{"hook-resource-deleted-externally/hook.yaml"}, says: []string{"(Sync wave 0)", "Sync hook Job default/hook"}},
		{folder: argo, files: []string{"hook/hook.yaml"}, says: []string{"(Sync wave 0)", "Sync hook Pod default/hook"}},
		{folder: argo, files: []string{"multi-namespace-hook/multi-namespace-hook.yaml"}, says: []string{"(prerequisites)", "(Sync wave 0)", "Deployment default/nginx-deployment", "PostSync hook Pod default/my-hook", "Pod test-multi-ns-hook-second/my-hook"}},
		{folder: argo, files: []string{"sync-waves/cm-1.yaml", "sync-waves/cm-2.yaml"}, says: []string{"(Sync wave 1)", "cm-1", "(Sync wave 2)", "cm-2"}},
		{folder: argo, files: []string{"syncwaves-prune-order/pod.yaml", "syncwaves-prune-order/rbac.yaml"}, says: []string{"(Sync wave 0)", "modify-pods-role", "(Sync wave 1)", "modify-pods-rolebinding", "(Sync wave 2)", "pod-with-finalizers"}},
		// Cluster-scoped objects that name a namespace.
		{folder: argo, files: []string{"cluster-role-hook/cluster-role.yaml"}, says: []string{"ClusterRoleBinding my-cluster-role-binding"}},
		{folder: argo, files: []string{"duplicated-resources/duplicates-cluster.yaml"}, says: []string{"ClusterDummy.argoproj.io cluster-dummy-crd-instance"}},
		// Change groups and rules: three files of one example; a CRD after the
		// operator's Deployment, which must not delay the webhook's Service; an
		// unrendered template.
		{folder: kapp, files: []string{"resource-ordering/redis-primary.yml", "resource-ordering/redis-replica.yml", "resource-ordering/sync-check.yml"}, says: []string{"wave 1/3", "Deployment default/redis-primary", "wave 2/3", "Deployment default/redis-replica", "wave 3/3", "Job default/sync-check"}},
		{folder: kapp, files: []string{"gatekeeper-v3.7.0/config.yml"}, says: []string{
			"(prerequisites)", "Service gatekeeper-system/gatekeeper-webhook-service", "Deployment gatekeeper-system/gatekeeper-controller-manager",
			"(prerequisites)", "CustomResourceDefinition k8srequiredlabels.constraints.gatekeeper.sh", "upsert after upserting deployment", "ConstraintTemplate.templates.gatekeeper.sh k8srequiredlabels",
		}},
		{folder: kapp, files: []string{"pinniped-v0.13.0/config.yml"}, says: []string{
			"ServiceAccount pinniped-concierge/pinniped-concierge-impersonation-proxy", "Secret pinniped-concierge/pinniped-concierge-impersonation-proxy", "upsert after upserting impersonation-proxy.concierge.pinniped.dev/serviceaccount",
		}},
		{folder: kapp, files: []string{"sts-alternative/config.yml"}, refused: true, says: []string{"Service: metadata.name is missing", "Pod: metadata.name is missing"}},
		// depends-on with a target in another file, or nowhere.
		{folder: kpt, files: []string{"e2e/testdata/live-apply/apply-depends-on/resources/second.yaml"}, refused: true, says: []string{"apps/namespaces/apply-depends-on/Deployment/first-nginx is not in the stream"}},
		{folder: kpt, files: []string{"e2e/testdata/live-apply/json-output/pre-apply/second.yaml"}, refused: true, says: []string{"apps/namespaces/json-output/Deployment/first-nginx is not in the stream"}},
		{folder: kpt, files: []string{"e2e/testdata/live-apply/json-output/resources/dep.yaml"}, refused: true, says: []string{"/namespaces/json-output/ConfigMap/cm is not in the stream"}},
		{folder: kpt, files: []string{"e2e/testdata/live-apply/prune-depends-on/pre-apply/second.yaml"}, refused: true, says: []string{"apps/namespaces/prune-depends-on/Deployment/first-nginx is not in the stream"}},
		{folder: kpt, files: []string{"package-examples/wordpress-with-dependencies/deployment/deployment.yaml", "package-examples/wordpress-with-dependencies/service.yaml"}, refused: true, says: []string{"Service default/wordpress", "StatefulSet/wordpress-mysql is not in the stream", "Deployment default/wordpress", "as external:apps/namespaces/default/StatefulSet/wordpress-mysql"}},
		{folder: catalog, files: []string{"set-namespace-depends-on/resources.yaml"}, refused: true, says: []string{"apps/namespaces/default/StatefulSet/outside-resource is not in the stream", "rbac.authorization.k8s.io/ClusterRole/secret-reader is not in the stream"}},
		{folder: catalog, files: []string{"ensure-name-substring-depends-on/resources.yaml"}, refused: true, says: []string{"/namespaces/default/StatefulSet/outside-resource is not in the stream"}},
	}
}
