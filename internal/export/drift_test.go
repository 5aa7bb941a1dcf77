package export_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/export"
)

// trees returns the trees that an export wrote of one stream, by engine, or form of Argo
// CD. The stream has three layers; one has a custom resource, another a claim that waits
// for its Pod.
func trees(t *testing.T) map[string]map[string][]byte {
	t.Helper()
	out := map[string]map[string][]byte{}
	for _, name := range []string{"flux", "application", "app-of-apps", "applicationset", "fleet"} {
		archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
		require.NoError(t, err)
		out[name] = map[string][]byte{}
		for _, file := range archive.Files {
			out[name][file.Name] = file.Data
		}
	}
	return out
}

// A finding names the file, what is different, why that matters and what to do.
func TestFindings(t *testing.T) {
	all := trees(t)
	const kustomizations, apps = "flux/kustomizations.yaml", "argocd/applications/"
	for _, c := range []struct {
		name, tree, file string
		old, new         string // edits the file; without old, new replaces it, and is "" if it is removed
		want             []string
	}{
		{"a dependency is gone", "flux", kustomizations, "  dependsOn:\n  - name: shop-queue\n", "", []string{
			"Kustomization shop-web no longer depends on shop-queue: layer web would be applied before that is ready; add it to spec.dependsOn"}},
		{"another dependency", "flux", kustomizations, "  - name: shop-queue\n", "  - name: shop-other\n", []string{
			"Kustomization shop-web no longer depends on shop-queue: layer web would be applied before that is ready; add it to spec.dependsOn",
			"Kustomization shop-web depends on shop-other: the order does not ask for that; remove it from spec.dependsOn"}},
		{"a dependency by expression", "flux", kustomizations, "  - name: shop-queue\n", "  - name: shop-queue\n    readyExpr: 'true'\n", []string{
			"Kustomization shop-web depends on shop-queue in another way: a readyExpr replaces Flux's own check, which also asks for the same revision; leave only its name in spec.dependsOn"}},
		{"wait is gone", "flux", kustomizations, "  wait: true\n", "", []string{
			"Kustomization shop-queue no longer waits until its resources are ready: what waits for layer queue would be applied too early; set spec.wait to true"}},
		{"wait where the order has none", "flux", kustomizations, "  healthChecks:\n", "  wait: true\n  healthChecks:\n", []string{
			"Kustomization shop-data waits until all of its resources are ready: the order does not ask for that, and one that becomes ready only later would block it for ever; remove spec.wait"}},
		{"a health check is gone", "flux", kustomizations, "  - apiVersion: apps/v1\n    kind: Deployment\n    name: db\n", "  - apiVersion: apps/v1\n    kind: Deployment\n    name: web\n", []string{
			"Kustomization shop-data no longer waits until Deployment shop/db is ready: what waits for layer data would be applied too early; add it to spec.healthChecks",
			"Kustomization shop-data waits until Deployment shop/web is ready: the order does not ask for that; remove it from spec.healthChecks"}},
		{"a condition is gone", "flux", kustomizations, "healthCheckExprs", "comment", []string{
			"Kustomization shop-queue no longer has a condition for Gizmo (lab.example/v1): Flux takes an object without a status for ready, so that what waits for layer queue would be applied too early; restore it in spec.healthCheckExprs",
			"Kustomization shop-queue differs, spec.comment was added"}},
		{"another condition", "flux", kustomizations, `"high"`, `"low"`, []string{
			"Kustomization shop-queue has another condition for Gizmo (lab.example/v1): the gate opens when that holds, and not when the rule does; restore it in spec.healthCheckExprs"}},
		{"suspended", "flux", kustomizations, "  prune: true\n", "  prune: true\n  suspend: true\n", []string{
			"Kustomization shop-data is suspended: layer data is not applied, and what depends on it waits; remove spec.suspend"}},
		{"a field of the engine", "flux", kustomizations, "timeout: 5m0s", "timeout: 1h", []string{"Kustomization shop-data differs, spec.timeout is 1h instead of 5m0s; export again"}},
		{"one more Kustomization", "flux", "flux/more.yaml", "", "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: more, namespace: flux-system}\n", []string{
			"Kustomization more is not of this order: Flux applies it, and no order says when; remove it"}},
		{"one less", "flux", kustomizations, "name: shop-web", "name: shop-site", []string{
			"Kustomization shop-web is missing: its layer is never applied, and what depends on it waits forever; export again",
			"Kustomization shop-site is not of this order: Flux applies it, and no order says when; remove it"}},
		{"the same twice", "flux", kustomizations, "---\n", "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: shop-web, namespace: flux-system}\n---\n", []string{
			"Kustomization shop-web is there twice: the one that is applied last counts; remove one"}},
		{"not YAML", "flux", kustomizations, "spec:", "spec", []string{"the file cannot be read: "}},
		{"another source", "flux", "flux/source.yaml", "oci://r/x", "oci://r/y", []string{"OCIRepository shop differs, spec.url is oci://r/y instead of oci://r/x; export again"}},
		{"another option", "flux", "export.yaml", "oci://r/x", "oci://r/y", []string{
			"option source is oci://r/y instead of oci://r/x: the tree was exported with other flags than it is compared with; repeat the flag, or export again"}},
		{"no options", "flux", "export.yaml", "", "", []string{"Export is missing: without it --check needs all flags of the export; export again"}},
		{"an edited manifest", "flux", "layers/web/deployment-shop-web.yaml", "web:1", "web:2", []string{
			"Deployment shop/web differs from the stream, spec.template.spec.containers[name=c].image is web:2 instead of web:1: the engine applies what the stream does not say; change the stream, and export again"}},
		{"values of Secrets are not printed", "flux", "layers/queue/secret-shop-login.yaml", "hunter2", "hunter3", []string{
			"Secret shop/login differs from the stream, stringData.password differs: the engine applies what the stream does not say; change the stream, and export again"}},
		{"a manifest is gone", "flux", "layers/web/deployment-shop-web.yaml", "", "", []string{"Deployment shop/web is missing: layer web would be ready without it; export again"}},
		{"one more manifest", "flux", "layers/web/more.yaml", "", "{apiVersion: v1, kind: ConfigMap, metadata: {name: more, namespace: shop}}", []string{
			"ConfigMap shop/more is not in the stream: the engine applies it with layer web, and no order says where it belongs; remove the file, or add the manifest to the stream"}},
		{"a kustomization", "flux", "layers/web/kustomization.yaml", "", "{apiVersion: kustomize.config.k8s.io/v1beta1, kind: Kustomization}", []string{
			"a kustomization changes what the engine applies of layer web: no export wrote it; remove it"}},
		{"another file", "flux", "layers/web/README.md", "", "text", []string{"no export wrote this file: what it says is not part of the order; remove it"}},
		{"a comment", "flux", kustomizations, "# ", "# Edited. ", []string{"only comments or the layout differ: the engine does the same; export again to restore the file"}},
		{"another wave of a manifest", "application", "layers/web/deployment-shop-web.yaml", `sync-wave: "2"`, `sync-wave: "1.5"`, []string{
			`Deployment shop/web is in sync wave 1.5, and the order has it in sync wave 2: Argo CD would apply it before what it waits for, or after what waits for it; set the annotation argocd.argoproj.io/sync-wave to "2"`}},
		{"no finalizer", "application", "argocd/application.yaml", "  finalizers:\n  - resources-finalizer.argocd.argoproj.io\n", "", []string{
			"Application shop has no finalizer: its resources would stay when it is deleted, and no order would be kept; restore metadata.finalizers"}},
		{"no health check", "application", "argocd/argocd-cm.yaml", "health.lab.example_Gizmo", "health.lab.example_Other", []string{
			"ConfigMap argocd-cm has no health check of Gizmo.lab.example: Argo CD takes one for healthy as soon as it exists, so that what waits for it would be applied too early; restore data[resource.customizations.health.lab.example_Gizmo]",
			"ConfigMap argocd-cm differs, data[\"resource.customizations.health.lab.example_Other\"] was added"}},
		{"another health check", "application", "argocd/argocd-cm.yaml", `"high"`, `"low"`, []string{
			"ConfigMap argocd-cm has another health check of Gizmo.lab.example: the gate opens when that holds, and not when the rule does; restore data[resource.customizations.health.lab.example_Gizmo]"}},
		{"another wave of an Application", "app-of-apps", apps + "web.yaml", `sync-wave: "2"`, `sync-wave: "0"`, []string{
			`Application shop-web is in sync wave 0, and the order has it in sync wave 2: layer web would be applied before what it waits for, or after what waits for it; set the annotation argocd.argoproj.io/sync-wave to "2"`}},
		{"no health check of Applications", "app-of-apps", "argocd/argocd-cm.yaml", "health.argoproj.io_Application", "other", []string{
			"ConfigMap argocd-cm has no health check of Applications: Argo CD waits for no layer; restore data[resource.customizations.health.argoproj.io_Application]",
			"ConfigMap argocd-cm differs, data[\"resource.customizations.other\"] was added"}},
		{"synced by hand", "app-of-apps", apps + "web.yaml", "    automated:\n      prune: true\n      selfHeal: true\n", "", []string{
			"Application shop-web is not synced automatically: layer web is applied only when it is synced by hand, and the layers after it wait for that; restore spec.syncPolicy.automated"}},
		{"one less Application", "app-of-apps", apps + "web.yaml", "", "", []string{"Application shop-web is missing: its layer is never applied, and no later layer waits for it; export again"}},
		{"another step", "applicationset", "argocd/applicationset.yaml", "          values:\n          - web\n", "          values:\n          - site\n", []string{
			"ApplicationSet shop has no step with layer web in its rolling sync: Argo CD never syncs it; add it to step 3",
			"ApplicationSet shop has a layer site in its rolling sync: the order has none of this name; remove it"}},
		{"no rolling sync", "applicationset", "argocd/applicationset.yaml", "RollingSync", "AllAtOnce", []string{
			"ApplicationSet shop is synced without a RollingSync: Argo CD applies all layers at once; restore spec.strategy"}},
		{"deleted at once", "applicationset", "argocd/applicationset.yaml", "    deletionOrder: Reverse\n", "", []string{
			"ApplicationSet shop is deleted all at once: a layer would go before those that need it; set spec.strategy.deletionOrder to Reverse"}},
		{"a cluster is gone", "fleet", "argocd/applicationset.yaml", "      - cluster: us-1\n        cohort: production\n        labels:\n          stage: production\n", "", []string{
			"ApplicationSet shop has no cluster us-1: Argo CD deploys nothing to it, and deletes what it has deployed; restore its element in spec.generators"}},
		{"another cluster", "fleet", "argocd/applicationset.yaml", "cluster: us-1", "cluster: us-9", []string{
			"ApplicationSet shop has no cluster us-1: Argo CD deploys nothing to it, and deletes what it has deployed; restore its element in spec.generators",
			"ApplicationSet shop has a cluster us-9: the fleet has none of this name; remove its element from spec.generators"}},
		{"another cohort", "fleet", "argocd/applicationset.yaml", "cluster: us-1\n        cohort: production", "cluster: us-1\n        cohort: canary", []string{
			"ApplicationSet shop has cluster us-1 in cohort canary, and the fleet in cohort production: it would be synced before the cohorts that it waits for, or after those that wait for it; set the cohort of its element in spec.generators"}},
		{"another label", "fleet", "argocd/applicationset.yaml", "stage: canary", "stage: test", []string{
			"ApplicationSet shop has other values of cluster eu-1; restore its element in spec.generators"}},
		{"another limit", "fleet", "argocd/applicationset.yaml", "maxUpdate: 1", "maxUpdate: 2", []string{
			"ApplicationSet shop syncs 2 of cohort production at a time, and the order 1; restore maxUpdate of step 2"}},
		{"no limit", "fleet", "argocd/applicationset.yaml", "        maxUpdate: 1\n", "", []string{
			"ApplicationSet shop syncs all of cohort production at a time, and the order 1; restore maxUpdate of step 2"}},
		{"another step of a fleet", "fleet", "argocd/applicationset.yaml", "          values:\n          - canary\n", "          values:\n          - first\n", []string{
			"ApplicationSet shop has no step with cohort canary in its rolling sync: Argo CD never syncs it; add it to step 1",
			"ApplicationSet shop has a cohort first in its rolling sync: the order has none of this name; remove it"}},
		{"a fleet at once", "fleet", "argocd/applicationset.yaml", "RollingSync", "AllAtOnce", []string{
			"ApplicationSet shop is synced without a RollingSync: Argo CD applies all clusters at once; restore spec.strategy"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := all[c.tree]
			have := maps.Clone(want)
			switch {
			case c.old != "":
				require.Contains(t, string(want[c.file]), c.old)
				have[c.file] = replace(want[c.file], c.old, c.new)
			case c.new != "":
				have[c.file] = []byte(c.new)
			default:
				delete(have, c.file)
			}
			found := export.Find(want, have)
			require.Len(t, found, len(c.want), "%v", found)
			for i, f := range found {
				require.Contains(t, f.String(), c.file+": "+c.want[i])
			}
		})
	}
}

// replace edits a file: the last place that has the text, or the first, if that is the
// one after which the stream's layer is named.
func replace(text []byte, old, changed string) []byte {
	if strings.Contains(old, "timeout") || strings.Contains(old, "prune") || strings.HasPrefix(old, "---") || strings.HasPrefix(old, "# ") || old == "spec:" {
		return []byte(strings.Replace(string(text), old, changed, 1))
	}
	i := strings.LastIndex(string(text), old)
	if strings.HasPrefix(old, "  wait") {
		i = strings.Index(string(text), old)
	}
	return []byte(string(text[:i]) + changed + string(text[i+len(old):]))
}

// A manifest in another layer is one finding, and names both.
func TestAManifestInAnotherLayer(t *testing.T) {
	want := trees(t)["flux"]
	have := maps.Clone(want)
	have["layers/data/deployment-shop-web.yaml"] = have["layers/web/deployment-shop-web.yaml"]
	delete(have, "layers/web/deployment-shop-web.yaml")
	found := export.Find(want, have)
	require.Len(t, found, 1)
	require.Equal(t, "layers/data/deployment-shop-web.yaml: Deployment shop/web is in layer data, and the order has it in layer web: it would be applied before what it waits for, or after what waits for it; move it to layers/web/deployment-shop-web.yaml", found[0].String())
	have["layers/web/deployment-shop-web.yaml"] = want["layers/web/deployment-shop-web.yaml"]
	found = export.Find(want, have)
	require.Len(t, found, 1)
	require.Equal(t, "layers/data/deployment-shop-web.yaml: Deployment shop/web is in the tree twice, also in layers/web/deployment-shop-web.yaml: two layers would apply it in turn; remove this file", found[0].String())
}

// A tree that is the same has no finding; whatever else happens to a file, one names it.
func TestEveryDifferenceIsFound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, want := range trees(t) {
		require.Empty(t, export.Find(want, maps.Clone(want)), name)
		paths := slices.Sorted(maps.Keys(want))
		for range 150 {
			file := paths[random.IntN(len(paths))]
			lines := strings.SplitAfter(string(want[file]), "\n")
			i := random.IntN(len(lines))
			switch random.IntN(3) {
			case 0:
				lines = slices.Delete(lines, i, i+1)
			case 1:
				lines = slices.Insert(lines, i, lines[random.IntN(len(lines))])
			default:
				lines[i] = strings.Replace(lines[i], ":", ": x", 1) + "\n"
			}
			have := maps.Clone(want)
			have[file] = []byte(strings.Join(lines, ""))
			if string(have[file]) == string(want[file]) {
				continue
			}
			found := export.Find(want, have)
			require.True(t, slices.ContainsFunc(found, func(f export.Finding) bool { return f.Path == file }), "%s: %s\n%s\n%s", name, file, have[file], fmt.Sprint(found))
		}
	}
}
