package preflight_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// checksOf returns the checks of a run of set "mine" that waits for no kind. Each manifest is a
// step of one wave; the cluster serves all kinds but those of gone.dev, and late.dev's server
// does not answer.
func checksOf(t *testing.T, manifests ...string) (preflight.Checks, map[object.ID]*unstructured.Unstructured) {
	t.Helper()
	cluster, plan, objects := memcluster.New(), &ordering.Plan{Waves: []ordering.Wave{{}}}, map[object.ID]*unstructured.Unstructured{}
	cluster.Gone = map[schema.GroupKind]bool{{Group: "gone.dev", Kind: "Thing"}: true, {Group: "apps", Kind: "Deploiment"}: true}
	cluster.UnreadableGroups = map[string]bool{"late.dev": true}
	for _, text := range manifests {
		obj := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(text), &obj.Object))
		id := kube.Meta(obj).ID
		plan.Steps, objects[id] = append(plan.Steps, ordering.Step{ID: id}), obj
	}
	owner := write.Owner{Membership: applyset.Membership{Set: "mine"}}
	reader := request.NewReader(cluster, owner, plan, objects, &health.Assessor{}, 1)
	return preflight.Checks{Cluster: kube.NewReadOnly(cluster), Reader: reader, Reads: make([]request.LiveObject, len(manifests)), Plan: plan}, objects
}

// Manifests without an error, and with one of each check.
const (
	fine      = "{apiVersion: v1, kind: ConfigMap, metadata: {name: fine, namespace: shop}}"
	malformed = "{apiVersion: v1, kind: Secret, metadata: {name: malformed, namespace: shop}, data: {key: no base64}}"
	record    = "{apiVersion: v1, kind: Secret, metadata: {name: record, namespace: shop, labels: {ordapply.dev/applyset: shop}}}"
	unserved  = "{apiVersion: gone.dev/v1, kind: Thing, metadata: {name: unserved, namespace: shop}}"
	crd       = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.own.dev}, spec: {group: own.dev, scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}]}}"
	custom    = "{apiVersion: own.dev/v1, kind: Widget, metadata: {name: custom, namespace: shop}, spec: {size: large}}"
)

// named returns a manifest under another name.
func named(name, manifest string) string {
	return regexp.MustCompile(`name: \w+`).ReplaceAllString(manifest, "name: "+name)
}

// All foreign members are reported before any other error, the last first, even those of ended steps. Then each
// check goes through the plan, and passes over steps that have ended, as after an error.
func TestErrorsOfARun(t *testing.T) {
	c, _ := checksOf(t, custom, crd, unserved, malformed, named("ended", malformed), record, fine,
		named("refused", malformed), named("refused2", fine), named("foreign", malformed), named("foreign2", fine))
	const ended, refused, foreign = 4, 7, 9
	c.Plan.Steps[0].ProvidedBy = []object.ID{c.Plan.Steps[1].ID}
	c.Reads[0].Known = true
	c.Plan.Steps[refused].Refused = errors.New("its CRD does not serve the version")
	c.Plan.Steps[refused+1].Refused = c.Plan.Steps[refused].Refused
	other := &unstructured.Unstructured{}
	other.SetLabels(map[string]string{applyset.PartOfLabel: "another"})
	c.Reads[foreign].Live, c.Reads[foreign+1].Live = other, other
	over := map[int]bool{ended: true, foreign + 1: true}
	var got []string
	c.Each(t.Context(), func(step int) bool { return over[step] }, func(step int, err error) {
		over[step] = true
		got = append(got, strings.TrimSpace(c.Plan.Steps[step].ID.Name+" "+string(event.CodeOf(err))))
	})
	require.Equal(t, []string{"foreign2 Conflict", "foreign Conflict", "refused", "refused2", "record Conflict", "malformed", "unserved NotServed", "custom"}, got)
}

// Without reads each step has the first of its errors, in the order of the plan. Membership is
// not checked.
func TestErrorsWithoutReads(t *testing.T) {
	c, objects := checksOf(t, fine, unserved, named("refused", malformed), malformed, record)
	refused := errors.New("its CRD does not serve the version")
	c.Plan.Steps[2].Refused = refused
	c.Reader.Manifests = nil // nothing was read
	err := c.WithoutReads(objects)
	require.ErrorIs(t, err, refused)
	var joined interface{ Unwrap() []error }
	require.ErrorAs(t, err, &joined)
	var got []string
	for _, err := range joined.Unwrap() {
		var failed *event.Error
		require.ErrorAs(t, err, &failed)
		require.Equal(t, event.OpApply, failed.Op)
		require.Equal(t, c.Plan.WaveTitle(0), failed.Wave)
		got = append(got, failed.ID.Name)
	}
	require.Equal(t, []string{"unserved", "refused", "malformed"}, got)
	c, objects = checksOf(t, fine, record)
	c.Reader.Manifests = nil
	require.NoError(t, c.WithoutReads(objects))
}

// A kind that is not served is waited for only if it can appear, and the run has time for that.
func TestMayAppear(t *testing.T) {
	timed := func(value, manifest string) string {
		return strings.Replace(manifest, "namespace: shop", "namespace: shop, annotations: {ordapply.dev/timeout: "+value+"}", 1)
	}
	late, builtin := strings.Replace(unserved, "gone.dev", "late.dev", 1), strings.NewReplacer("gone.dev", "apps", "Thing", "Deploiment").Replace(unserved)
	asIs := func(*preflight.Checks) {}
	for name, c := range map[string]struct {
		manifest string
		with     func(*preflight.Checks)
		want     bool
	}{
		"no time":                      {unserved, asIs, false},
		"the run waits for kinds":      {unserved, func(c *preflight.Checks) { c.KindTimeout = time.Second }, true},
		"the kind has a timeout":       {unserved, func(c *preflight.Checks) { c.Plan.Steps[0].Timeout = time.Second }, true},
		"it has a timeout of its own":  {timed("1s", unserved), asIs, true},
		"its timeout is malformed":     {timed("soon", unserved), asIs, false},
		"a dry run":                    {unserved, func(c *preflight.Checks) { c.DryRun = true }, true},
		"the stream provides it":       {unserved, func(c *preflight.Checks) { c.Plan.Steps[0].ProvidedBy = []object.ID{{Name: "operator"}} }, true},
		"its API server is silent":     {late, asIs, true},
		"a built-in group":             {builtin, func(c *preflight.Checks) { c.KindTimeout, c.DryRun = time.Second, true }, false},
		"a built-in group, and a time": {timed("1s", builtin), asIs, false},
	} {
		t.Run(name, func(t *testing.T) {
			checks, objects := checksOf(t, c.manifest)
			c.with(&checks)
			require.Equal(t, c.want, checks.MayAppear(0))
			checks.Reader.Manifests = nil
			err := checks.WithoutReads(objects)
			require.Equal(t, c.want, err == nil, "%v", err)
		})
	}
}

// ordapply's annotation wins over Helm's, even a malformed one.
func TestOwnTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		own, helm string // "-" for no annotation
		want      time.Duration
		err       string
	}{
		"none":             {"-", "-", 0, ""},
		"ordapply's":       {"90s", "-", 90 * time.Second, ""},
		"Helm's":           {"-", "5m", 5 * time.Minute, ""},
		"both":             {"90s", "5m", 90 * time.Second, ""},
		"the first is bad": {"soon", "5m", 0, `annotation ordapply.dev/timeout: "soon" is not a duration such as 90s`},
		"the other is bad": {"90s", "soon", 90 * time.Second, ""},
		"Helm's is bad":    {"-", "300", 0, `annotation helm.sh/readiness-timeout: "300" is not a duration such as 90s`},
		"empty":            {"", "-", 0, `annotation ordapply.dev/timeout: "" is not a duration such as 90s`},
		"zero":             {"0s", "-", 0, `annotation ordapply.dev/timeout: "0s" is not a duration such as 90s`},
		"negative":         {"-1s", "-", 0, `annotation ordapply.dev/timeout: "-1s" is not a duration such as 90s`},
	} {
		t.Run(name, func(t *testing.T) {
			obj, annotations := &unstructured.Unstructured{Object: map[string]any{}}, map[string]string{"ordapply.dev/timeout": c.own, "helm.sh/readiness-timeout": c.helm}
			for key, value := range annotations {
				if value == "-" {
					delete(annotations, key)
				}
			}
			obj.SetAnnotations(annotations)
			got, err := preflight.OwnTimeout(obj)
			require.Equal(t, c.want, got)
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.err)
			}
		})
	}
}
