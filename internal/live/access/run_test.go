package access_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/live/access"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/test/plancase"
)

// served is how the cluster of these tests serves kinds: the built-in ones, and Gadgets of
// own.dev.
func served(gvk schema.GroupVersionKind) (kube.Kind, bool) {
	if gvk.Group == "own.dev" && gvk.Kind == "Gadget" {
		return kube.Kind{Resource: schema.GroupVersionResource{Group: "own.dev", Version: "v1", Resource: "gadgets"}, Namespaced: true}, true
	}
	return kube.OwnKinds(gvk)
}

// A Namespace, the definition of Gadgets, and a webhook configuration with a URL and a Service.
const (
	shop    = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"
	crd     = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gadgets.own.dev}, spec: {group: own.dev, scope: Namespaced, names: {kind: Gadget, plural: gadgets}, versions: [{name: v1, served: true}]}}"
	guarded = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: a}, webhooks: [{name: d.e.f, clientConfig: {caBundle: abc, url: https://guard}}, {name: a.b.c, clientConfig: {caBundle: abc, service: {name: guard, namespace: shop}}}]}"
)

// one returns a manifest in namespace shop with annotations in YAML.
func one(apiVersion, kind, annotations string) string {
	return "{apiVersion: " + apiVersion + ", kind: " + kind + ", metadata: {name: a, namespace: shop, annotations: {" + annotations + "}}, data: {key: placeholder}}"
}

// The permissions of a run besides create, patch, get and list of the objects themselves.
func TestPermissionsOfARun(t *testing.T) {
	definitions := []string{"list customresourcedefinitions.apiextensions.k8s.io", "watch customresourcedefinitions.apiextensions.k8s.io", "list apiservices.apiregistration.k8s.io", "watch apiservices.apiregistration.k8s.io"}
	diagnosis := []string{"list events@shop", "get persistentvolumeclaims@shop", "list pods@shop", "watch pods@shop", "get pods/log@shop"}
	skip := func(object.ID) bool { return true }
	applied := "ordapply.dev/layer: app/a, ordapply.dev/wave: '0', ordapply.dev/gate: applied"
	recreated, source := "ordapply.dev/on-immutable: recreate", `config.kubernetes.io/apply-time-mutation: "[{sourceRef: {%s, name: s}, sourcePath: $.a, targetPath: $.data.key}]"`
	dependent := func(on string) string { return one("v1", "ConfigMap", "ordapply.dev/depends-on: 'external:"+on+"'") }
	for name, c := range map[string]struct {
		run                access.Run
		stream             []string
		required, optional []string
		unknown            string
	}{
		"ready when it exists":         {stream: []string{shop, one("v1", "ConfigMap", "")}},
		"namespace of elsewhere":       {stream: []string{one("v1", "ConfigMap", "")}, optional: []string{`get namespaces "shop"@shop`}},
		"waited for":                   {stream: []string{shop, one("v1", "Pod", "")}, required: []string{`get pods "a"@shop`}, optional: diagnosis},
		"of ReplicaSets":               {stream: []string{shop, one("apps/v1", "Deployment", "")}, required: []string{`get deployments.apps "a"@shop`}, optional: slices.Concat([]string{"list events@shop", "watch events@shop"}, diagnosis[1:], []string{"watch deployments.apps@shop", "list replicasets.apps@shop"})},
		"no diagnosis":                 {run: access.Run{NoDiagnosis: true}, stream: []string{shop, one("v1", "Pod", "")}, required: []string{`get pods "a"@shop`}, optional: []string{"watch pods@shop"}},
		"dry run":                      {run: access.Run{DryRun: true}, stream: []string{shop, one("v1", "Pod", "")}},
		"no wait":                      {run: access.Run{SkipWait: skip}, stream: []string{shop, one("v1", "Pod", "")}},
		"gate applied":                 {stream: []string{shop, one("v1", "Pod", applied)}},
		"gate applied, and a need":     {stream: []string{shop, one("v1", "Pod", applied), one("v1", "ConfigMap", "ordapply.dev/depends-on: '/namespaces/shop/Pod/a?gate=ready'")}, required: []string{`get pods "a"@shop`}, optional: diagnosis},
		"webhook":                      {stream: []string{guarded}, required: []string{`get validatingwebhookconfigurations.admissionregistration.k8s.io "a"`, "list endpointslices.discovery.k8s.io@shop"}, optional: []string{"watch validatingwebhookconfigurations.admissionregistration.k8s.io", "watch endpointslices.discovery.k8s.io@shop"}},
		"ignored fields":               {stream: []string{shop, one("v1", "ConfigMap", "ordapply.dev/ignore-fields: data.a")}, required: []string{`get configmaps "a"@shop`}},
		"recreated":                    {stream: []string{shop, one("v1", "ConfigMap", recreated)}, required: []string{`delete configmaps "a"@shop`, `get configmaps "a"@shop`, "list configmaps@shop", "list persistentvolumeclaims@shop"}},
		"recreated in a dry run":       {run: access.Run{DryRun: true}, stream: []string{shop, one("v1", "ConfigMap", recreated)}},
		"recreated custom resource":    {run: access.Run{SkipWait: skip}, stream: []string{shop, one("own.dev/v1", "Gadget", recreated)}, required: []string{`delete gadgets.own.dev "a"@shop`, `get gadgets.own.dev "a"@shop`, "list gadgets.own.dev@shop", "list persistentvolumeclaims@shop"}, optional: []string{`get customresourcedefinitions.apiextensions.k8s.io "gadgets.own.dev"`}},
		"custom resource":              {stream: []string{shop, one("own.dev/v1", "Gadget", "")}, required: []string{`get gadgets.own.dev "a"@shop`}, optional: []string{`get customresourcedefinitions.apiextensions.k8s.io "gadgets.own.dev"`, "list events@shop", "watch gadgets.own.dev@shop"}},
		"custom resource and CRD":      {stream: []string{shop, crd, one("own.dev/v1", "Gadget", "")}, required: []string{`get customresourcedefinitions.apiextensions.k8s.io "gadgets.own.dev"`, `get gadgets.own.dev "a"@shop`}, optional: []string{"watch customresourcedefinitions.apiextensions.k8s.io", "list events@shop", "watch gadgets.own.dev@shop"}},
		"unknown kind":                 {stream: []string{shop, one("own.dev/v1", "Widget", "")}, optional: definitions, unknown: "Widget.own.dev"},
		"kind that an operator brings": {run: access.Run{SkipWait: skip}, stream: []string{shop, one("v1", "Pod", "ordapply.dev/provides: own.dev/Gadget"), one("own.dev/v1", "Gadget", "")}, optional: definitions},
		"external":                     {stream: []string{shop, dependent("/namespaces/blog/ConfigMap/b")}, required: []string{`get configmaps "b"@blog`}, optional: []string{"list configmaps@blog", "watch configmaps@blog"}},
		"external in a dry run":        {run: access.Run{DryRun: true}, stream: []string{shop, dependent("/namespaces/blog/ConfigMap/b")}},
		"external of unknown kind":     {stream: []string{shop, dependent("own.dev/namespaces/blog/Widget/b")}, optional: definitions, unknown: "Widget.own.dev"},
		"external in a wrong place":    {stream: []string{shop, dependent("/namespaces/blog/Namespace/b")}},
		"source of values":             {run: access.Run{DryRun: true}, stream: []string{shop, one("v1", "ConfigMap", fmt.Sprintf(source, "kind: Secret"))}, required: []string{`get secrets "s"@shop`}},
		"source elsewhere":             {run: access.Run{DryRun: true}, stream: []string{shop, one("v1", "ConfigMap", fmt.Sprintf(source, "kind: Secret, namespace: blog"))}, required: []string{`get secrets "s"@blog`}},
		"source without a namespace":   {run: access.Run{DryRun: true}, stream: []string{shop, one("v1", "ConfigMap", fmt.Sprintf(source, "kind: Node, namespace: blog"))}, required: []string{`get nodes "s"`}},
		"source of unknown kind":       {run: access.Run{DryRun: true}, stream: []string{shop, one("v1", "ConfigMap", fmt.Sprintf(source, "apiVersion: own.dev/v1, kind: Widget"))}, unknown: "Widget.own.dev"},
	} {
		t.Run(name, func(t *testing.T) {
			resources, objects := objectsOf(t, c.stream)
			plan, err := planner.Build(resources, ordering.Options{})
			require.NoError(t, err)
			c.run.Health, c.run.Recreates = &health.Assessor{}, write.MayRecreate
			if c.run.SkipWait == nil {
				c.run.SkipWait = func(object.ID) bool { return false }
			}
			p := c.run.Permissions(plan, objects, served)
			var unknown []string
			for _, gk := range p.Unknown {
				unknown = append(unknown, gk.String())
			}
			require.Equal(t, c.unknown, strings.Join(unknown, " "))
			for _, r := range resources {
				kind, known := served(schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind})
				if own := (kube.Permission{Resource: kind.Resource, Namespace: r.Namespace, Name: r.Name}); known {
					c.required = append(c.required, texts(own, "create", "patch")...)
					c.optional = append(c.optional, texts(own, "get")...)
					c.optional = append(c.optional, texts(own.OfAnyName(), "list")...)
				}
			}
			requireTexts(t, c.required, p.Required)
			requireTexts(t, c.optional, p.Optional)
		})
	}
}

// A deletion reads and deletes each object, and lists the custom resources that a definition
// would take along. That a kind is not served may have to be proven.
func TestPermissionsOfARemoval(t *testing.T) {
	proof := []string{"get customresourcedefinitions.apiextensions.k8s.io", "list customresourcedefinitions.apiextensions.k8s.io", "list apiservices.apiregistration.k8s.io"}
	for name, c := range map[string]struct {
		live               string
		required, optional []string
		unknown            int
	}{
		"built-in kind":   {one("v1", "ConfigMap", ""), []string{`delete configmaps "a"@shop`, `get configmaps "a"@shop`}, []string{"list configmaps@shop", "watch configmaps@shop"}, 0},
		"custom resource": {one("own.dev/v1", "Gadget", ""), []string{`delete gadgets.own.dev "a"@shop`, `get gadgets.own.dev "a"@shop`}, append(proof, "list gadgets.own.dev@shop", "watch gadgets.own.dev@shop"), 0},
		"definition":      {crd, []string{`delete customresourcedefinitions.apiextensions.k8s.io "gadgets.own.dev"`, `get customresourcedefinitions.apiextensions.k8s.io "gadgets.own.dev"`}, []string{"list customresourcedefinitions.apiextensions.k8s.io", "watch customresourcedefinitions.apiextensions.k8s.io", "list gadgets.own.dev"}, 0},
		"unknown kind":    {one("own.dev/v1", "Widget", ""), nil, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, objects := objectsOf(t, []string{c.live})
			p := access.RemovalPermissions(objects, served)
			requireTexts(t, c.required, p.Required)
			requireTexts(t, c.optional, p.Optional)
			require.Len(t, p.Unknown, c.unknown)
		})
	}
}

func objectsOf(t *testing.T, stream []string) ([]ordering.Resource, map[object.ID]*unstructured.Unstructured) {
	t.Helper()
	resources, objects := plancase.Parse(t, []byte(strings.Join(stream, "\n---\n"))), map[object.ID]*unstructured.Unstructured{}
	for _, r := range resources {
		objects[r.ID] = &unstructured.Unstructured{Object: r.Object}
	}
	return resources, objects
}

// texts returns a permission for these verbs in the form `get pods "a"@shop`.
func texts(p kube.Permission, verbs ...string) []string {
	namespace := ""
	if p.Namespace != "" {
		namespace = "@" + p.Namespace
		p.Namespace = ""
	}
	var out []string
	for _, verb := range verbs {
		p.Verb = verb
		out = append(out, p.String()+namespace)
	}
	return out
}

func requireTexts(t *testing.T, want []string, list []kube.Permission) {
	t.Helper()
	var got []string
	for _, p := range list {
		got = append(got, texts(p, p.Verb)...)
	}
	require.ElementsMatch(t, slices.Compact(slices.Sorted(slices.Values(want))), got)
}
