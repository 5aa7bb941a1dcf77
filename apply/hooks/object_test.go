package hooks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	authorhook "github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
)

// mine is the owner of the hooks in these tests.
const mine = "applyset-mine-v1"

// newObject returns an object from text such as "Job.batch a helm.sh/hook=test", with
// annotations. It is in namespace shop unless its kind is cluster-scoped.
func newObject(text string) *unstructured.Unstructured {
	words := strings.Fields(text)
	gk := schema.ParseGroupKind(words[0])
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(gk.WithVersion("v1"))
	obj.SetName(words[1])
	if !kube.IsClusterScoped(gk) {
		obj.SetNamespace("shop")
	}
	switch gk.Kind {
	case "Pod":
		obj.Object["spec"] = map[string]any{"restartPolicy": "Never"}
	case "CustomResourceDefinition":
		obj.Object["spec"] = map[string]any{"group": "example.com", "scope": "Namespaced", "names": map[string]any{"kind": "Gear", "plural": "gears"}, "versions": []any{map[string]any{"name": "v1", "served": true, "storage": true}}}
	}
	annotations := map[string]string{}
	for _, word := range words[2:] {
		key, value, _ := strings.Cut(word, "=")
		annotations[key] = value
	}
	obj.SetAnnotations(annotations)
	return obj
}

func resourceOf(text string) ordering.Resource {
	obj := newObject(text)
	return ordering.Resource{Meta: kube.Meta(obj), Object: obj.Object}
}

// newHooks returns the hooks of resources: Argo CD's if the first has its annotation.
func newHooks(t *testing.T, texts ...string) authorhook.Hooks {
	t.Helper()
	source := ordering.OrderSourceAuto
	var resources []ordering.Resource
	for _, text := range texts {
		resources = append(resources, resourceOf(text))
		if strings.Contains(text, "argocd") {
			source = ordering.OrderSourceArgoCD
		}
	}
	all, dropped := authorhook.Read(resources, source)
	require.Empty(t, dropped)
	return all
}

// A hook replaces only objects that a run of its owner made, unless --adopt=any says so.
// Records of sets, protected objects and members of other sets stay even then.
func TestMayReplace(t *testing.T) {
	const (
		helm  = "ConfigMap a helm.sh/hook=pre-install"
		argo  = "ConfigMap a argocd.argoproj.io/hook=PreSync"
		keeps = "ConfigMap a helm.sh/hook=pre-install helm.sh/resource-policy=keep"
	)
	inSet, adopting := Runner{Owner: mine}, Runner{Owner: mine, Adopt: true}
	for name, c := range map[string]struct {
		runner Runner
		hook   string
		live   string
		label  [2]string
		want   bool
	}{
		"own":                                {inSet, helm, "ConfigMap a ordapply.dev/hook-of=" + mine, [2]string{}, true},
		"own, without a set":                 {Runner{}, helm, "ConfigMap a ordapply.dev/hook-of=none", [2]string{}, true},
		"of a run without a set":             {inSet, helm, "ConfigMap a ordapply.dev/hook-of=none", [2]string{}, true},
		"of a set, run without one":          {Runner{}, helm, "ConfigMap a ordapply.dev/hook-of=" + mine, [2]string{}, false},
		"of another set":                     {inSet, helm, "ConfigMap a ordapply.dev/hook-of=applyset-other-v1", [2]string{}, false},
		"of another set, adopted":            {adopting, helm, "ConfigMap a ordapply.dev/hook-of=applyset-other-v1", [2]string{}, true},
		"unknown":                            {inSet, helm, "ConfigMap a", [2]string{}, false},
		"unknown, adopted":                   {adopting, helm, "ConfigMap a", [2]string{}, true},
		"member":                             {inSet, helm, "ConfigMap a", [2]string{applyset.PartOfLabel, mine}, true},
		"member, run without a set":          {Runner{}, helm, "ConfigMap a", [2]string{applyset.PartOfLabel, mine}, false},
		"member of another set":              {inSet, helm, "ConfigMap a ordapply.dev/hook-of=" + mine, [2]string{applyset.PartOfLabel, "applyset-other-v1"}, false},
		"member of another set, adopted":     {adopting, helm, "ConfigMap a", [2]string{applyset.PartOfLabel, "applyset-other-v1"}, false},
		"member of another set, taken":       {Runner{Owner: mine, Adopt: true, ReplaceMembers: true}, helm, "ConfigMap a", [2]string{applyset.PartOfLabel, "applyset-other-v1"}, true},
		"protected":                          {adopting, helm, "ConfigMap a ordapply.dev/lifecycle=keep ordapply.dev/hook-of=" + mine, [2]string{}, false},
		"protected as the hook":              {inSet, keeps, "ConfigMap a helm.sh/resource-policy=keep ordapply.dev/hook-of=" + mine, [2]string{}, true},
		"protected otherwise than the hook":  {inSet, keeps, "ConfigMap a ordapply.dev/lifecycle=keep ordapply.dev/hook-of=" + mine, [2]string{}, false},
		"parent of a set":                    {adopting, helm, "ConfigMap a", [2]string{applyset.IDLabel, "applyset-other-v1"}, false},
		"leftover of Argo CD":                {inSet, argo, argo, [2]string{}, true},
		"leftover of Argo CD, hook of Helm":  {inSet, helm, argo, [2]string{}, false},
		"leftover of Argo CD, of another":    {inSet, argo, argo + " ordapply.dev/hook-of=applyset-other-v1", [2]string{}, false},
		"leftover of Argo CD, in a set":      {Runner{Owner: mine, ReplaceMembers: true}, argo, argo, [2]string{applyset.PartOfLabel, "applyset-other-v1"}, false},
		"leftover of Argo CD and protected":  {inSet, argo, argo + " ordapply.dev/lifecycle=keep", [2]string{}, false},
		"leftover of Helm, without a record": {inSet, helm, helm, [2]string{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			live := newObject(c.live)
			if c.label[0] != "" {
				live.SetLabels(map[string]string{c.label[0]: c.label[1]})
			}
			require.Equal(t, c.want, c.runner.mayReplace(newHooks(t, c.hook)[0], live))
		})
	}
}
