package preview_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/manifest"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/memcluster"
)

// newCluster returns a cluster whose PATCHes are merged as an API server merges them.
func newCluster() *memcluster.Store {
	cluster := memcluster.New()
	cluster.ServerSide.On = true
	return cluster
}

func parse(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	manifests, err := manifest.Read("app.yaml", strings.NewReader(text))
	require.NoError(t, err)
	var out []*unstructured.Unstructured
	for _, m := range manifests {
		out = append(out, m.Unstructured)
	}
	return out
}

// store applies manifests as a field manager; "me" leaves its fingerprint.
func store(t *testing.T, cluster *memcluster.Store, manager, text string) {
	t.Helper()
	for _, obj := range parse(t, text) {
		if manager == "me" {
			require.NoError(t, unstructured.SetNestedField(obj.Object, "x", "metadata", "annotations", applyset.AppliedAnnotation))
		}
		kind, _ := cluster.Kind(obj.GroupVersionKind())
		_, err := cluster.Apply(t.Context(), kind, obj, kube.PatchOptions{Manager: manager})
		require.NoError(t, err)
	}
}

// change changes a stored object.
func change(cluster *memcluster.Store, key string, how func(*unstructured.Unstructured)) {
	live := cluster.At(key)
	how(live)
	kind, _ := cluster.Kind(live.GroupVersionKind())
	cluster.Add(kind, live)
}

// previewed returns the preview of a stream. Nothing is written.
func previewed(t *testing.T, cluster *memcluster.Store, text string, in preview.Input) *preview.Preview {
	t.Helper()
	var inputs []apply.Input
	for _, obj := range parse(t, text) {
		inputs = append(inputs, apply.Input{Object: obj})
	}
	stream, err := apply.NewStream(inputs, apply.Scope{Kind: cluster.Kind})
	require.NoError(t, err)
	in.Plan, err = stream.Plan(ordering.Options{})
	require.NoError(t, err)
	in.Cluster, in.Objects, in.Manager = kube.NewReadOnly(cluster), stream.Objects, "me"
	before := maps.Clone(cluster.Objects)
	found, err := preview.Of(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, before, cluster.Objects)
	return found
}

const (
	one      = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, data: {k: one}}`
	two      = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, data: {k: two}}`
	shop     = "\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n---\n"
	gear     = `{apiVersion: example.com/v1, kind: Gear, metadata: {name: a, namespace: shop}, spec: {size: 1}}`
	gears    = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gears.example.com}, spec: {group: example.com, scope: Namespaced, names: {kind: Gear, plural: gears}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`
	job      = `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: shop}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: one}]}}}}`
	otherJob = `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: shop}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: two}]}}}}`
)

// annotated adds an annotation to the only object of a manifest.
func annotated(text, key, value string) string {
	return strings.Replace(text, "namespace: shop", "namespace: shop, annotations: {"+key+": "+value+"}", 1)
}

// The action on the last object of a stream, by the state of the cluster.
func TestActions(t *testing.T) {
	unserve := func(cluster *memcluster.Store) {
		cluster.Gone = map[schema.GroupKind]bool{{Group: "example.com", Kind: "Gear"}: true}
	}
	terminate := func(key string) func(*memcluster.Store) {
		return func(cluster *memcluster.Store) {
			change(cluster, key, func(live *unstructured.Unstructured) {
				at := metav1.Now()
				live.SetDeletionTimestamp(&at)
			})
		}
	}
	refuse := func(err error) func(*memcluster.Store) {
		return func(cluster *memcluster.Store) {
			cluster.ServerSide.Admit = func(_, after *unstructured.Unstructured) error {
				if after.GetKind() == "Gear" {
					return err
				}
				return nil
			}
		}
	}
	invalid := apierrors.NewInvalid(schema.GroupKind{Group: "example.com", Kind: "Gear"}, "a", nil)
	member := applyset.Membership{Set: "applyset-mine-v1"}
	for name, c := range map[string]struct {
		stream string
		mine   string // manifests that were applied by the same manager
		theirs string // manifests that were applied by another one
		state  func(*memcluster.Store)
		in     preview.Input
		want   preview.Action
	}{
		"absent":                   {stream: one, want: preview.ActionCreate},
		"same":                     {stream: one, mine: one, want: preview.ActionUnchanged},
		"changed":                  {stream: two, mine: one, want: preview.ActionUpdate},
		"of another manager":       {stream: one, theirs: strings.Replace(one, "k:", "other:", 1), want: preview.ActionAdopt},
		"of another with the same": {stream: one, theirs: one, want: preview.ActionAdopt},
		"in conflict":              {stream: two, theirs: one, want: preview.ActionError},
		"in conflict, forced":      {stream: two, theirs: one, in: preview.Input{ForceConflicts: applyset.Force{All: true}}, want: preview.ActionAdopt},
		"not in the set yet":       {stream: one, mine: one, in: preview.Input{Membership: member}, want: preview.ActionAdopt},
		"unreadable":               {stream: one, mine: one, state: func(c *memcluster.Store) { c.Refuse = memcluster.Forbids("get", "list") }, want: preview.ActionError},
		"terminating":              {stream: one, mine: one, state: terminate("configmaps/shop/a"), want: preview.ActionRecreate},
		"definition terminating":   {stream: gears, mine: gears, state: terminate("customresourcedefinitions.apiextensions.k8s.io//gears.example.com"), want: preview.ActionError},

		"immutable":                  {stream: otherJob, mine: job, want: preview.ActionError},
		"immutable, may be replaced": {stream: annotated(otherJob, "ordapply.dev/on-immutable", "recreate"), mine: job, want: preview.ActionRecreate},
		"immutable, run may replace": {stream: otherJob, mine: job, in: preview.Input{MayRecreate: map[object.ID]bool{{Group: "batch", Kind: "Job", Namespace: "shop", Name: "a"}: true}}, want: preview.ActionRecreate},

		"kind not served":           {stream: gear, state: unserve, want: preview.ActionError},
		"kind not served, awaited":  {stream: gear, state: unserve, in: preview.Input{KindTimeout: time.Minute}, want: preview.ActionDeferred},
		"kind of the stream":        {stream: gears + "\n---\n" + gear, state: unserve, want: preview.ActionDeferred},
		"refused":                   {stream: gear, state: refuse(invalid), want: preview.ActionError},
		"refused, kind changes":     {stream: strings.Replace(gears, "type: object", "type: object, description: new", 1) + "\n---\n" + gear, mine: gears, state: refuse(invalid), want: preview.ActionDeferred},
		"refused, kind is the same": {stream: gears + "\n---\n" + gear, mine: gears, state: refuse(invalid), want: preview.ActionError},
		"forbidden, kind changes":   {stream: strings.Replace(gears, "type: object", "type: object, description: new", 1) + "\n---\n" + gear, mine: gears, state: refuse(apierrors.NewForbidden(schema.GroupResource{}, "a", nil)), want: preview.ActionError},

		"Namespace of the stream":       {stream: shop + one, want: preview.ActionDeferred},
		"Namespace there":               {stream: shop + one, mine: shop, want: preview.ActionCreate},
		"Namespace of the run":          {stream: one, in: preview.Input{NewNamespace: "shop"}, want: preview.ActionDeferred},
		"Namespace just created":        {stream: shop + one, mine: shop, in: preview.Input{Sent: []object.ID{{Kind: "Namespace", Name: "shop"}}}, want: preview.ActionDeferred},
		"Namespace terminating":         {stream: one, mine: shop, state: terminate("namespaces//shop"), want: preview.ActionError},
		"Namespace terminating, stream": {stream: shop + one, mine: shop, state: terminate("namespaces//shop"), want: preview.ActionDeferred},

		"create only, absent":   {stream: annotated(two, "kustomize.toolkit.fluxcd.io/ssa", "IfNotPresent"), want: preview.ActionCreate},
		"create only, there":    {stream: annotated(two, "kustomize.toolkit.fluxcd.io/ssa", "IfNotPresent"), mine: one, want: preview.ActionUnchanged},
		"never applied, absent": {stream: annotated(two, "kapp.k14s.io/noop", `""`), want: preview.ActionUnchanged},
		"awaited, absent":       {stream: annotated(two, "kapp.k14s.io/exists", `""`), want: preview.ActionDeferred},
		"awaited, there":        {stream: annotated(two, "kapp.k14s.io/exists", `""`), theirs: one, want: preview.ActionUnchanged},
		"malformed":             {stream: `{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop}, data: {k: "%"}}`, want: preview.ActionError},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster()
			store(t, cluster, "me", c.mine)
			store(t, cluster, "they", c.theirs)
			if c.state != nil {
				c.state(cluster)
			}
			found := previewed(t, cluster, c.stream, c.in)
			row := found.Rows[len(found.Rows)-1]
			require.Equal(t, c.want, row.Action, "%s %v", row.Detail, row.Err)
			require.Equal(t, c.want == preview.ActionError, row.Err != nil)
			if row.Err != nil {
				failure := new(event.Error)
				require.ErrorAs(t, found.Err(), &failure)
				require.Equal(t, row.ID, failure.ID)
			}
		})
	}
}

// A deferred resource counts as a change, and an error does not: the run would stop there.
func TestChanges(t *testing.T) {
	for _, action := range preview.Actions() {
		found := preview.Preview{Rows: []preview.Row{{Action: preview.ActionUnchanged}, {Action: action}, {Action: preview.ActionError}}}
		require.Equal(t, action != preview.ActionUnchanged && action != preview.ActionError, found.Changes(), action)
	}
}

// An interrupted preview returns no rows: errors of its requests are not those of the run.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := preview.Of(ctx, preview.Input{Cluster: kube.NewReadOnly(newCluster()), Plan: &ordering.Plan{}, Manager: "me"})
	require.ErrorIs(t, err, event.ErrInterrupted)
}

// The preview of a recreation shows the new object under its own name, whatever name its dry
// run needs: that of the live object is taken, and none is longer than 63 characters.
func TestRecreationHasItsOwnName(t *testing.T) {
	name := strings.Repeat("a", 63)
	named := func(text string) string {
		return annotated(strings.ReplaceAll(text, "name: a,", "name: "+name+","), "ordapply.dev/on-immutable", "recreate")
	}
	cluster := newCluster()
	store(t, cluster, "me", named(job))
	cluster.ServerSide.Admit = func(_, after *unstructured.Unstructured) error {
		require.LessOrEqual(t, len(after.GetName()), 63)
		return nil
	}
	row := previewed(t, cluster, named(otherJob), preview.Input{}).Rows[0]
	require.Equal(t, preview.ActionRecreate, row.Action)
	require.Equal(t, name, row.Merged.GetName())
	image, _, _ := unstructured.NestedSlice(row.Merged.Object, "spec", "template", "spec", "containers")
	require.Equal(t, "two", image[0].(map[string]any)["image"])
}

// A plan that was reviewed is applied only while its digests are the same. A digest changes
// with the manifest and with the fields of the live object that the manifest has; other fields
// may change in the meantime. Of a Secret it has the keys, and no value.
func TestDigest(t *testing.T) {
	const (
		secret = `{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop}, data: {k: b25l}}`
		live   = `{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop}, data: {k: emVybw==}}`
	)
	set := func(key string, value any, path ...string) func(*memcluster.Store) {
		return func(cluster *memcluster.Store) {
			change(cluster, key, func(live *unstructured.Unstructured) { _ = unstructured.SetNestedField(live.Object, value, path...) })
		}
	}
	for name, c := range map[string]struct {
		live, stream, other string
		state               func(*memcluster.Store) // the change in the cluster
		same                bool
	}{
		"nothing":                       {live: one, stream: two, same: true},
		"another value":                 {live: one, stream: two, other: strings.Replace(two, "two", "three", 1)},
		"created by another":            {stream: two, state: func(cluster *memcluster.Store) { store(t, cluster, "me", one) }},
		"live value of the manifest":    {live: one, stream: two, state: set("configmaps/shop/a", "zero", "data", "k")},
		"another value, created":        {stream: one, other: two},
		"live value that is removed":    {live: strings.Replace(one, "k: one", "k: one, j: x", 1), stream: one, state: set("configmaps/shop/a", "y", "data", "j")},
		"live value of another manager": {live: one, stream: two, state: set("configmaps/shop/a", "x", "data", "other"), same: true},
		"status":                        {live: gear, stream: gear, state: set("gears.example.com/shop/a", "x", "status"), same: true},
		"value of a Secret":             {live: live, stream: secret, other: strings.Replace(secret, "b25l", "dHdv", 1), same: true},
		"key of a Secret":               {live: live, stream: secret, other: strings.Replace(secret, "k:", "other:", 1)},
		"unchanged Secret":              {live: live, stream: secret, other: live},
		"version of the live Secret":    {live: live, stream: secret, state: set("secrets/shop/a", "x", "data", "other")},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster()
			store(t, cluster, "me", c.live)
			before := previewed(t, cluster, c.stream, preview.Input{}).Rows[0].Digest()
			if c.state != nil {
				c.state(cluster)
			}
			after := previewed(t, cluster, cmp.Or(c.other, c.stream), preview.Input{}).Rows[0].Digest()
			require.Equal(t, c.same, before == after)
		})
	}
}

// Values of Secrets are masked, also in objects that take them and in objects to prune. A
// value has one placeholder in a preview and another one in the next.
func TestSecretsAreMasked(t *testing.T) {
	const stream = `{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop}, data: {k: aHVudGVyMg==, same: aHVudGVyMg==}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: taker
  namespace: shop
  annotations:
    config.kubernetes.io/apply-time-mutation: '[{sourceRef: {kind: Secret, name: a, namespace: shop}, sourcePath: $.data.k, targetPath: $.data.k}]'
data: {k: ""}
`
	cluster := newCluster()
	store(t, cluster, "me", `{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop}, data: {k: aHVudGVyMg==, same: aHVudGVyMg==}}`)
	found := previewed(t, cluster, stream, preview.Input{})
	found.AddPruned(t.Context(), cluster.At("secrets/shop/a"), ordering.Reason{}, "")
	data := func(p *preview.Preview, row int) map[string]any {
		obj := cmp.Or(p.Rows[row].Merged, p.Rows[row].Live)
		values, _, _ := unstructured.NestedMap(obj.Object, "data")
		return values
	}
	require.Equal(t, preview.ActionCreate, found.Rows[1].Action)
	for row := range found.Rows {
		require.NotContains(t, fmt.Sprint(found.Rows[row].Live, found.Rows[row].Merged), "aHVudGVyMg")
	}
	require.Equal(t, data(found, 0)["same"], data(found, 0)["k"])
	require.Equal(t, data(found, 0), data(found, 2))
	require.NotEqual(t, data(found, 0), data(previewed(t, cluster, stream, preview.Input{}), 0))
}

// A value of an object that the run changes is known only after the run; one of an unchanged
// object is shown.
func TestValuesOfOtherObjects(t *testing.T) {
	taker := "\n---\n" + annotated(strings.Replace(one, "name: a", "name: taker", 1), "config.kubernetes.io/apply-time-mutation",
		`"[{sourceRef: {kind: ConfigMap, name: a}, sourcePath: $.data.k, targetPath: $.data.k}]"`)
	for stream, known := range map[string]bool{one: true, two: false} {
		cluster := newCluster()
		store(t, cluster, "me", one)
		row := previewed(t, cluster, stream+taker, preview.Input{}).Rows[1]
		require.Equal(t, preview.ActionCreate, row.Action, row.Err)
		value, _, _ := unstructured.NestedString(row.Merged.Object, "data", "k")
		require.Equal(t, known, value == "one", value)
		require.Equal(t, known, row.Detail == "", row.Detail)
	}
}

// A kept object stays as it is, and its row says so.
func TestPrunedRows(t *testing.T) {
	cluster := newCluster()
	store(t, cluster, "me", one)
	found := previewed(t, cluster, two, preview.Input{})
	for keepReason, want := range map[string]preview.Action{"": preview.ActionPrune, "protected": preview.ActionUnchanged} {
		found.AddPruned(t.Context(), cluster.At("configmaps/shop/a"), ordering.Reason{}, keepReason)
		row := found.Rows[len(found.Rows)-1]
		require.Equal(t, want, row.Action)
		require.Equal(t, -1, row.Wave)
		require.Equal(t, want == preview.ActionPrune, row.Live != nil)
	}
}
