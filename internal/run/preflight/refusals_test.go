package preflight_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/run/preflight"
	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/memcluster"
)

const (
	job      = "{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: shop}, spec: {template: {spec: {image: one}}}}"
	newJob   = "{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: shop}, spec: {template: {spec: {image: two}}}}"
	settings = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, data: {port: '1'}}"
	edited   = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, data: {port: '2'}}"
	other    = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, data: {port: '3'}}"
)

// A change that the API server refuses because of the live object is an error before the first
// write. Only objects that suggest that are asked about, by one dry run if it is accepted.
func TestRefusals(t *testing.T) {
	with := func(annotation, manifest string) string { return annotatedWith(t, annotation, manifest) }
	before := func(c *preflight.Checks) { c.Plan.Hooks = []ordering.PlannedHook{{Event: "pre-upgrade"}} }
	force := func(managers ...string) func(*preflight.Checks) {
		return func(c *preflight.Checks) {
			c.Reader.Owner.Force.Managers = managers
			c.Sender.Owner = c.Reader.Owner
		}
	}
	for name, c := range map[string]struct {
		live, sent string
		theirs     string // applied by another manager, with force, after live
		with       func(*preflight.Checks)
		change     func(live *unstructured.Unstructured) // of the object that was read
		want       event.Code
		asked      bool
	}{
		"a new object":                           {sent: newJob},
		"an unchanged object":                    {live: job, sent: job},
		"the template of a Job":                  {live: job, sent: newJob, want: event.CodeImmutable, asked: true},
		"the run restores what it can":           {live: job, sent: newJob, with: func(c *preflight.Checks) { c.Restores = true }},
		"it may be recreated":                    {live: job, sent: with("ordapply.dev/on-immutable", newJob)},
		"the rollback may recreate it":           {live: job, sent: newJob, asked: true, with: func(c *preflight.Checks) { c.MayRecreate = func(*unstructured.Unstructured) bool { return true } }},
		"a hook may delete it before":            {live: job, sent: newJob, asked: true, with: before},
		"a value is filled in later":             {live: job, sent: with("config.kubernetes.io/apply-time-mutation", newJob)},
		"it is being deleted":                    {live: job, sent: newJob, change: func(o *unstructured.Unstructured) { now := metav1.Now(); o.SetDeletionTimestamp(&now) }},
		"the Job may have expired by then":       {live: job, sent: newJob, change: expiring(60)},
		"it does not expire soon":                {live: job, sent: newJob, change: expiring(86400), want: event.CodeImmutable, asked: true},
		"the API server accepts the change":      {live: with("x", job), sent: with("y", job)},
		"another manager's value":                {live: settings, theirs: edited, sent: other, want: event.CodeConflict, asked: true},
		"another manager's value, despite hooks": {live: settings, theirs: edited, sent: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, data: {port: '1', host: h}}", want: event.CodeConflict, asked: true, with: before},
		"the same value":                         {live: settings, theirs: edited, sent: edited},
		"a field that only others have":          {live: settings, theirs: edited, sent: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, data: {host: h}}"},
		"its fields are forced":                  {live: settings, theirs: edited, sent: other, with: force("another")},
		"several values":                         {live: several("1"), theirs: several("2"), sent: several("3"), want: event.CodeConflict, asked: true},
		"a field is removed from a Job":          {live: "{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: shop}, spec: {template: {spec: {a: {b: x}, c: {d: y}, image: one}}}}", sent: job, want: event.CodeImmutable, asked: true},
		"another's fields are forced":            {live: settings, theirs: edited, sent: other, with: force("x"), want: event.CodeConflict, asked: true},
		"the forced one is immutable":            {live: job, theirs: job, sent: newJob, with: force("another"), want: event.CodeImmutable, asked: true},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := memcluster.New()
			cluster.ServerSide.On = true
			checks := checksOn(t, cluster, c.sent)
			apply := func(manager, text string, body func(*unstructured.Unstructured) *unstructured.Unstructured) {
				if text == "" {
					return
				}
				obj := parsed(t, text)
				kind, _ := cluster.Kind(obj.GroupVersionKind())
				_, err := cluster.Apply(t.Context(), kind, body(obj), kube.PatchOptions{Manager: manager, Force: true})
				require.NoError(t, err)
			}
			apply("me", c.live, func(obj *unstructured.Unstructured) *unstructured.Unstructured {
				body, err := checks.Reader.Bodies.Body(obj)
				require.NoError(t, err)
				return body
			})
			apply("another", c.theirs, func(obj *unstructured.Unstructured) *unstructured.Unstructured { return obj })
			checks.Reads, _ = checks.Reader.Read(t.Context(), 0)
			if c.change != nil {
				c.change(checks.Reads[0].Live)
			}
			if c.with != nil {
				c.with(&checks)
			}
			asked, written := false, maps.Clone(cluster.Writes)
			cluster.Refuse = func(verb string, _ kube.Kind, _, _ string) error { asked = asked || verb == "apply"; return nil }
			var got event.Code
			checks.Each(t.Context(), func(int) bool { return false }, func(_ int, err error) { got = event.CodeOf(err) })
			require.Equal(t, c.want, got)
			require.Equal(t, c.asked, asked, "sent a dry run")
			require.Equal(t, written, cluster.Writes)
		})
	}
}

// several returns a ConfigMap with several values.
func several(value string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, labels: {x: '" + value + "'}}, data: {a: '" + value + "', b: '" + value + "'}}"
}

// checksOn returns the checks of a run by field manager "me" without a set.
func checksOn(t *testing.T, cluster *memcluster.Store, text string) preflight.Checks {
	obj := parsed(t, text)
	id := kube.Meta(obj).ID
	plan := &ordering.Plan{Waves: []ordering.Wave{{}}, Steps: []ordering.Step{{ID: id}}}
	owner := write.Owner{Membership: applyset.Membership{}, Manager: "me"}
	reader := request.NewReader(cluster, owner, plan, map[object.ID]*unstructured.Unstructured{id: obj}, &health.Assessor{}, 1)
	return preflight.Checks{Cluster: kube.NewReadOnly(cluster), Reader: reader, Plan: plan, Sender: request.Sender{Cluster: cluster, Owner: owner}}
}

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &obj.Object))
	return obj
}

// annotatedWith returns a manifest with an annotation whose value is "recreate".
func annotatedWith(t *testing.T, key, text string) string {
	obj := parsed(t, text)
	obj.SetAnnotations(map[string]string{key: "recreate"})
	out, err := yaml.Marshal(obj.Object)
	require.NoError(t, err)
	return string(out)
}

// expiring gives a Job that was just created a time to live in seconds.
func expiring(seconds int64) func(*unstructured.Unstructured) {
	return func(live *unstructured.Unstructured) {
		live.SetCreationTimestamp(metav1.NewTime(time.Now()))
		_ = unstructured.SetNestedField(live.Object, seconds, "spec", "ttlSecondsAfterFinished")
	}
}
