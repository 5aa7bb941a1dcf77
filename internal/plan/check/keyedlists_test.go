package check

import (
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/testcluster"
)

func TestDuplicateItems(t *testing.T) {
	for name, c := range map[string]struct{ manifest, want string }{
		"environment": {
			"kind: Pod\nspec: {containers: [{name: web, env: [{name: MODE, value: a}, {name: OTHER}, {name: MODE, value: b}]}]}",
			`containers[name="web"].env[0] and containers[name="web"].env[2] have the same name: MODE`,
		},
		"a default of a key": {
			"kind: Service\nspec: {ports: [{port: 53, name: a}, {port: 53, protocol: TCP, name: b}]}",
			"spec.ports[0] and spec.ports[1] have the same port: 53, protocol: TCP",
		},
		"another protocol":       {"kind: Service\nspec: {ports: [{port: 53}, {port: 53, protocol: UDP}]}", ""},
		"a template":             {"kind: Deployment\ngroup: apps\nspec: {template: {spec: {volumes: [{name: v}, {name: v}], containers: [{name: c}]}}}", "volumes[0] and volumes[1] have the same name: v"},
		"a missing key":          {"kind: Pod\nspec: {containers: [{name: c, env: [{value: a}, {value: b}]}]}", ""},
		"a kind of other people": {"kind: Rollout\ngroup: acme.example\nspec: {template: {spec: {containers: [{name: c}, {name: c}]}}}", ""},
		"data that is no base64": {"kind: Secret\ndata: {password: '***'}", "data.password is not base64"},
	} {
		t.Run(name, func(t *testing.T) {
			var obj map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(c.manifest), &obj))
			group, _ := obj["group"].(string)
			err := Native(object.ID{Group: group, Kind: obj["kind"].(string), Name: "x"}, obj)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

// The keyed lists equal the API server's own schema.
func TestKeyedListsAreThoseOfTheSchema(t *testing.T) {
	cluster := testcluster.Start(t)
	kubectl, err := testcluster.Find("localcluster")
	require.NoError(t, err)
	for path, kinds := range map[string]map[string][]string{
		"api/v1":                               {"Pod": {"spec"}, "Service": nil, "ServiceAccount": nil, "ReplicationController": {"spec", "template", "spec"}},
		"apis/apps/v1":                         {"Deployment": {"spec", "template", "spec"}, "StatefulSet": {"spec", "template", "spec"}, "DaemonSet": {"spec", "template", "spec"}, "ReplicaSet": {"spec", "template", "spec"}},
		"apis/batch/v1":                        {"Job": {"spec", "template", "spec"}, "CronJob": {"spec", "jobTemplate", "spec", "template", "spec"}},
		"apis/admissionregistration.k8s.io/v1": {"MutatingWebhookConfiguration": nil, "ValidatingWebhookConfiguration": nil, "ValidatingAdmissionPolicy": nil},
	} {
		text, err := exec.Command(kubectl, "kubectl", "--dir", cluster.Dir, "--", "get", "--raw", "/openapi/v3/"+path).Output()
		require.NoError(t, err)
		var document schemas
		require.NoError(t, json.Unmarshal(text, &document))
		parts := strings.Split(path, "/")
		group := ""
		if len(parts) == 3 {
			group = parts[1]
		}
		for kind, pod := range kinds {
			found := map[string][]string{}
			document.walk(document.kind(t, group, kind), nil, found, nil)
			maps.DeleteFunc(found, func(path string, _ []string) bool {
				return strings.HasSuffix(path, "metadata.ownerReferences") || strings.Contains(path, ".status.") // templates never have them
			})
			require.Equal(t, found, lists(object.ID{Group: group, Kind: kind}, pod), kind)
		}
	}
}

// lists returns the lists that Check knows of a kind with a Pod spec at a path, nil for
// none: their keys by their paths.
func lists(id object.ID, pod []string) map[string][]string {
	out := map[string][]string{}
	for _, l := range listsOf(id) {
		out[strings.Join(l.path, ".")] = slices.Sorted(slices.Values(l.keys))
	}
	if pod != nil {
		for _, l := range podLists() {
			out[strings.Join(append(slices.Clone(pod), l.path...), ".")] = slices.Sorted(slices.Values(l.keys))
		}
	}
	return out
}

// schemas is the part of an OpenAPI document that has keyed lists.
type schemas struct {
	Components struct{ Schemas map[string]schema }
}

type schema struct {
	Ref        string `json:"$ref"`
	AllOf      []schema
	Properties map[string]schema
	Items      *schema
	ListType   string                         `json:"x-kubernetes-list-type"`
	Keys       []string                       `json:"x-kubernetes-list-map-keys"`
	Kinds      []struct{ Group, Kind string } `json:"x-kubernetes-group-version-kind"`
}

func (s schemas) kind(t *testing.T, group, kind string) schema {
	for _, found := range s.Components.Schemas {
		for _, k := range found.Kinds {
			if k.Group == group && k.Kind == kind && len(found.Kinds) == 1 {
				return found
			}
		}
	}
	require.Fail(t, "no schema", kind)
	return schema{}
}

// walk collects the keyed lists below a schema, but for metadata and status.
func (s schemas) walk(at schema, path []string, found map[string][]string, within []string) {
	refs := []string{at.Ref}
	for _, part := range at.AllOf {
		refs = append(refs, part.Ref)
	}
	for _, ref := range refs {
		if ref != "" && !slices.Contains(within, ref) {
			s.walk(s.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")], path, found, append(slices.Clone(within), ref))
		}
	}
	if at.ListType == "map" {
		found[strings.Join(path, ".")] = slices.Sorted(slices.Values(at.Keys))
	}
	if at.Items != nil {
		s.walk(*at.Items, append(slices.Clone(path), "*"), found, within)
	}
	for name, field := range at.Properties {
		if len(path) > 0 || name != "metadata" && name != "status" {
			s.walk(field, append(slices.Clone(path), name), found, within)
		}
	}
}
