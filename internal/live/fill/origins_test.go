package fill_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/live/fill"
	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// cluster has ConfigMaps by name; one that is nil may not be read.
type cluster map[string]*unstructured.Unstructured

func (cluster) Kind(gvk schema.GroupVersionKind) (kube.Kind, bool) {
	return kube.Kind{Namespaced: true}, gvk.Kind == "ConfigMap" || gvk.Kind == "Secret"
}

func (cluster) Versions(schema.GroupKind) []string { return []string{"v1"} }

func (c cluster) Get(_ context.Context, _ kube.Kind, _, name string) (*unstructured.Unstructured, error) {
	switch obj, has := c[name]; {
	case !has:
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name)
	case obj == nil:
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, name, errors.New("no"))
	default:
		return obj, nil
	}
}

// takes returns a ConfigMap that takes values of others, such as "ConfigMap/a".
func takes(name string, from ...string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"x": "value of " + name}}}
	obj.SetName(name)
	obj.SetNamespace("shop")
	text := ""
	for _, source := range from {
		var kind, name string
		_, _ = fmt.Sscanf(source, "%s %s", &kind, &name)
		text += "- {sourceRef: {kind: " + kind + ", name: " + name + "}, sourcePath: $.data.x, targetPath: $.data.x}\n"
	}
	if text != "" {
		obj.SetAnnotations(map[string]string{mutation.Annotation: text})
	}
	return obj
}

func sourcesOf(c cluster) fill.Sources {
	return fill.Sources{Cluster: c, Version: func(object.ID) string { return "" }}
}

// The annotations of live objects say where their values come from, however many are in
// between. An unknown origin counts as a Secret.
func TestOriginsOfLiveValues(t *testing.T) {
	c := cluster{
		"public": takes("public"), "copy": takes("copy", "Secret s"), "second": takes("second", "ConfigMap public", "ConfigMap copy"),
		"ring": takes("ring", "ConfigMap round"), "round": takes("round", "ConfigMap ring"),
		"ringcopy": takes("ringcopy", "ConfigMap ringback", "ConfigMap copy"), "ringback": takes("ringback", "ConfigMap ringcopy"),
		"unreadable": nil,
	}
	for i := range 60 {
		c[fmt.Sprint("far", i)] = takes(fmt.Sprint("far", i), fmt.Sprint("ConfigMap far", i+1))
	}
	c["far60"] = takes("far60")
	for name, owner := range map[string]string{"ofcopy": "copy", "ofpublic": "public", "ofunreadable": "unreadable"} {
		c[name] = takes(name)
		c[name].SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner}})
	}
	for source, secret := range map[string]bool{
		"ConfigMap ofcopy": true, "ConfigMap ofpublic": false, "ConfigMap ofunreadable": false,
		"Secret s": true, "ConfigMap public": false, "ConfigMap copy": true, "ConfigMap second": true,
		"ConfigMap ring": false, "ConfigMap ringback": true, "ConfigMap ringcopy": true,
		"ConfigMap gone": true, "ConfigMap unreadable": true, "Gone x": true,
		"ConfigMap far30": false, "ConfigMap far0": true,
	} {
		places := sourcesOf(c).Origins(nil).PlacesIn(t.Context(), takes("live", source))
		require.Equal(t, secret, len(places) == 1, source)
	}
	require.Empty(t, sourcesOf(c).Origins(nil).PlacesIn(t.Context(), takes("live")))
	require.Len(t, sourcesOf(c).Origins(nil).PlacesIn(t.Context(), takes("live", "ConfigMap public", "ConfigMap second")), 1)
}

// A value that another object has taken from a Secret is hidden in errors, and its place in
// output; no filter looks into it, whatever it would find.
func TestSecondHandValuesAreSecret(t *testing.T) {
	c := cluster{"public": takes("public"), "copy": takes("copy", "Secret s")}
	filled, err := sourcesOf(c).Fill(t.Context(), takes("later", "ConfigMap copy"), nil)
	require.NoError(t, err)
	require.Equal(t, []mutation.Place{{"data", "x"}}, filled.Places)
	require.Contains(t, filled.Secrets, "value of copy")
	filled, err = sourcesOf(c).Fill(t.Context(), takes("later", "ConfigMap public"), nil)
	require.NoError(t, err)
	require.Empty(t, filled.Places)
	require.Empty(t, filled.Secrets)
	for _, filter := range []string{`$.data[?(@ =~ "^value")]`, `$.data[?(@ =~ "^other")]`} {
		manifest := takes("later")
		manifest.SetAnnotations(map[string]string{mutation.Annotation: "- {sourceRef: {kind: ConfigMap, name: copy}, sourcePath: '" + filter + "', targetPath: $.data.x}"})
		sources := sourcesOf(c)
		_, err := sources.Fill(t.Context(), manifest, nil)
		require.ErrorIs(t, err, mutation.ErrNotPlain)
		sources.IsOpen = func(object.ID) bool { return false } // a preview
		_, err = sources.Fill(t.Context(), manifest, nil)
		require.ErrorIs(t, err, mutation.ErrNotPlain)
	}
}
