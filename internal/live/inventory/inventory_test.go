package inventory

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/object"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	var obj map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &obj))
	return &unstructured.Unstructured{Object: obj}
}

// A copy of a mark on another object, such as a ReplicaSet, names no record.
func TestMarks(t *testing.T) {
	for metadata, want := range map[string]string{
		`annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: shop}`:                             "helm/shop/web",
		`labels: {kapp.k14s.io/app: "17"}, annotations: {kapp.k14s.io/identity: "v1;shop/apps/Deployment/a;apps/v1"}`:     "kapp//17",
		`labels: {kapp.k14s.io/app: "17"}, annotations: {kapp.k14s.io/identity: "v1;shop/apps/Deployment/other;apps/v1"}`: "",
		`labels: {kapp.k14s.io/app: "17"}`:                                                           "",
		`annotations: {config.k8s.io/owning-inventory: id}`:                                          "kpt//id",
		`labels: {kustomize.toolkit.fluxcd.io/name: web, kustomize.toolkit.fluxcd.io/namespace: fl}`: "flux/fl/web",
		`annotations: {argocd.argoproj.io/tracking-id: "web:apps/Deployment:shop/a"}`:                "argocd//web",
		`annotations: {argocd.argoproj.io/tracking-id: "team_web:apps/Deployment:shop/a"}`:           "argocd/team/web",
		`annotations: {argocd.argoproj.io/tracking-id: "web:apps/Deployment:shop/other"}`:            "",
		`labels: {app: a}`: "",
		`annotations: {meta.helm.sh/release-name: "web-", meta.helm.sh/release-namespace: shop}`:                                                                                  "",
		`annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: ".."}`:                                                                                     "",
		`annotations: {meta.helm.sh/release-name: web}`:                                                                                                                           "",
		`annotations: {config.k8s.io/owning-inventory: "a b"}`:                                                                                                                    "",
		`annotations: {argocd.argoproj.io/tracking-id: "we b:apps/Deployment:shop/a"}`:                                                                                            "",
		`annotations: {meta.helm.sh/release-name: "web,a in (b)", meta.helm.sh/release-namespace: shop}`:                                                                          "",
		`labels: {applyset.kubernetes.io/part-of: applyset-x-v1}`:                                                                                                                 "kubectl/shop/applyset-x-v1",
		`labels: {helm.toolkit.fluxcd.io/name: web, helm.toolkit.fluxcd.io/namespace: fl}`:                                                                                        "fluxhelm/fl/web",
		`labels: {app.kubernetes.io/instance: web}`:                                                                                                                               "",
		`labels: {app.kubernetes.io/instance: web}, managedFields: [{manager: helm}]`:                                                                                             "",
		`labels: {app.kubernetes.io/instance: web}, managedFields: [{manager: argocd-controller}]`:                                                                                "argocd//web",
		`labels: {app.kubernetes.io/instance: web}, managedFields: [{manager: argocd-controller, subresource: status}]`:                                                           "",
		`labels: {app.kubernetes.io/instance: chart}, annotations: {argocd.argoproj.io/tracking-id: "web:apps/Deployment:shop/a"}, managedFields: [{manager: argocd-controller}]`: "argocd//web",
	} {
		live := parse(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: shop, `+metadata+`}}`)
		got := ""
		for _, ref := range RefsOf(live) {
			got = ref.String()
			again, ok := Parse(got)
			require.True(t, ok)
			require.Equal(t, ref, again)
			require.True(t, ref.Marks(live))
		}
		require.Equal(t, want, got, metadata)
	}
}

func TestNoReference(t *testing.T) {
	for _, text := range []string{"", "helm/shop", "helm/shop/", "other/shop/web", "helm//web", "kapp/shop/17", "helm/shop/we b", "kpt//a,b"} {
		_, ok := Parse(text)
		require.False(t, ok, text)
	}
}

// Keys of cli-utils and Flux: https://github.com/kubernetes-sigs/cli-utils/blob/v0.37.2/pkg/object/objmetadata.go
func TestKeys(t *testing.T) {
	for key, want := range map[string]object.ID{
		"shop_web_apps_Deployment":                             {Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"},
		"shop_web__ConfigMap":                                  {Kind: "ConfigMap", Namespace: "shop", Name: "web"},
		"_system__admin_rbac.authorization.k8s.io_ClusterRole": {Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "system:admin"},
	} {
		got, ok := idOfKey(key)
		require.True(t, ok, key)
		require.Equal(t, want, got, key)
	}
	for _, key := range []string{"", "a", "a_b", "a_b_c"} {
		_, ok := idOfKey(key)
		require.False(t, ok, key)
	}
}

func TestInventoried(t *testing.T) {
	web := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	require.Equal(t, []object.ID{web}, inventoried(parse(t, `{kind: ConfigMap, data: {shop_web_apps_Deployment: "", other: ""}}`)))
	require.Equal(t, []object.ID{web}, inventoried(parse(t, `{kind: ResourceGroup, spec: {resources: [{group: apps, kind: Deployment, namespace: shop, name: web}]}}`)))
}
