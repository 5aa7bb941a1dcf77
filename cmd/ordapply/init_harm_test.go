package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/internal/author/draft"
	"github.com/ordapply/ordapply/manifest"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/sortorder"
	"github.com/ordapply/ordapply/test/corpora"
	"github.com/ordapply/ordapply/test/plancase"
	"github.com/ordapply/ordapply/test/seeds"
)

// An order that init writes fails nowhere where the stream applies without one.
//
// A run waits for the readiness of every resource of a wave before it sends the next wave.
// So an order may only do harm by a gate that the plan without it does not have: A in an
// earlier wave than B, where both were in one wave, or B in the earlier one. For every such
// gate, in every stream and any order of its documents:
//
//   - A may not need B to become ready: B is not mentioned by A's manifest, or by a ConfigMap
//     or Secret that A uses; B is not a Job that makes a Secret of A, not a workload that may
//     write the status of A, a custom resource, and not a dependency of these.
//   - No selector that init wrote leaves B to the end: it matches B, or B waits for no layer.
func TestOrdersAddNoHarmfulGates(t *testing.T) {
	folder := corpora.Need(t)
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" || strings.Contains(path, "/orders/") {
			return err
		}
		t.Run(strings.TrimPrefix(path, folder+"/"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			resources := namedResources(text)
			without, err := planner.Build(resources, planOptions())
			if err != nil {
				t.Skip("the stream is no plan: ", err)
			}
			needs := newMayNeed(resources, without)
			for seed := range seeds.UpTo(10) {
				random := rand.New(rand.NewPCG(seed, 1))
				random.Shuffle(len(resources), func(i, j int) { resources[i], resources[j] = resources[j], resources[i] })
				requireNoHarm(t, resources, without, needs)
				requireNoHarm(t, labelledAtRandom(resources, random), without, needs)
				requireNoHarm(t, unlabelled(resources), without, needs)
			}
		})
		return nil
	}))
}

// namedResources reads the resources of a stream that a plan may hold: with a name, each once,
// without hooks.
func namedResources(stream []byte) []ordering.Resource {
	manifests, _ := manifest.Read("stream.yaml", bytes.NewReader(stream)) // unreadable documents are not planned either
	seen := map[object.ID]bool{}
	var out []ordering.Resource
	for _, m := range manifests {
		r := plancase.Resource(m.Object)
		if r.Annotations["helm.sh/hook"] == "" && r.Name != "" && !seen[r.ID] {
			seen[r.ID] = true
			out = append(out, r)
		}
	}
	return out
}

// labelledAtRandom returns the resources with a label that groups them without any sense, by
// which init makes layers.
func labelledAtRandom(resources []ordering.Resource, random *rand.Rand) []ordering.Resource {
	out := slices.Clone(resources)
	for i := range out {
		out[i].Labels = maps.Clone(out[i].Labels)
		if out[i].Labels == nil {
			out[i].Labels = map[string]string{}
		}
		out[i].Labels["tier"] = string(rune('a' + random.IntN(4)))
	}
	return out
}

// unlabelled returns the resources without labels, so that init has only kinds and namespaces
// to group them by.
func unlabelled(resources []ordering.Resource) []ordering.Resource {
	out := slices.Clone(resources)
	for i := range out {
		out[i].Labels = nil
	}
	return out
}

func planOptions() ordering.Options { return ordering.Options{SkipHooks: true} }

func requireNoHarm(t *testing.T, resources []ordering.Resource, without *ordering.Plan, needs *mayNeed) {
	t.Helper()
	options := planOptions()
	proposal, err := draft.Propose(resources, options, "first")
	require.NoError(t, err)
	text := proposal.YAML()
	order, err := sortorder.Parse(text)
	require.NoError(t, err)
	stamped := make([]ordering.Resource, len(resources))
	metas := make([]object.Meta, len(resources))
	for i, r := range resources {
		metas[i] = r.Meta
	}
	placements := order.Place(metas)
	for i, r := range resources {
		stamped[i] = r
		stamped[i].Annotations = fn.Stamp(order.Name, placements[i])
		maps.Copy(stamped[i].Annotations, r.Annotations)
	}
	with, err := planner.Build(stamped, options)
	require.NoError(t, err, "%s", text)
	before, after := wavesByID(without), wavesByID(with)
	for _, b := range with.Steps {
		if len(b.Layers) > 0 && slices.ContainsFunc(b.After, func(at ordering.Barrier) bool { return with.Layers[at.Layer].Kind == ordering.Stamped }) {
			at := slices.IndexFunc(resources, func(r ordering.Resource) bool { return r.ID == b.ID })
			layer := placements[at].Layer // the rest of Argo CD's waves is in wave 0, and gated
			require.False(t, layer.Unmatched && (layer.Applied || !layer.Listed), "%s is left to the end, behind a layer\n%s", b.ID, text)
		}
		for _, a := range with.Steps {
			if after[a.ID] < after[b.ID] && before[a.ID] >= before[b.ID] && a.Gate == ordering.Ready && needs.mayNeed(a.ID, b.ID) {
				require.Fail(t, "a harmful gate", "%s waits for %s, which may need it\n%s", b.ID, a.ID, text)
			}
		}
	}
}

func wavesByID(plan *ordering.Plan) map[object.ID]int {
	out := map[object.ID]int{}
	for _, s := range plan.Steps {
		out[s.ID] = s.Wave
	}
	return out
}

// mayNeed finds the needs that a resource may have to become ready, in the words of
// manifests. It finds more than the edges, independently of init.
type mayNeed struct {
	byID  map[object.ID]ordering.Resource
	steps map[object.ID]ordering.Step
	of    map[object.ID]map[object.ID]bool
	named map[string][]ordering.Resource // by namespace/name
}

func newMayNeed(resources []ordering.Resource, plan *ordering.Plan) *mayNeed {
	m := &mayNeed{map[object.ID]ordering.Resource{}, map[object.ID]ordering.Step{}, map[object.ID]map[object.ID]bool{}, map[string][]ordering.Resource{}}
	for _, r := range resources {
		m.byID[r.ID] = r
		m.named[r.Namespace+"/"+r.Name] = append(m.named[r.Namespace+"/"+r.Name], r)
	}
	for _, s := range plan.Steps {
		m.steps[s.ID] = s
	}
	return m
}

func (m *mayNeed) mayNeed(a, b object.ID) bool {
	if m.of[a] == nil {
		m.of[a] = m.all(a)
	}
	return m.of[a][b]
}

// all returns a resource's needs by edges of the plan, its mentions, and the needs and
// mentions of the passive resources among these.
func (m *mayNeed) all(a object.ID) map[object.ID]bool {
	out := map[object.ID]bool{}
	for queue := []object.ID{a}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		add := func(id object.ID) {
			if id != a && !out[id] {
				out[id] = true
				if id.Kind == "ConfigMap" || id.Kind == "Secret" {
					queue = append(queue, id)
				}
			}
		}
		for _, need := range m.steps[at].Needs {
			add(need.ID)
		}
		for _, id := range m.writers(m.byID[at]) {
			add(id)
		}
		if !passiveKinds[a.Kind] {
			for _, id := range m.mentions(m.byID[at], a.Namespace) {
				add(id)
			}
		}
	}
	return out
}

// passiveKinds are some kinds that are ready whatever they mention.
var passiveKinds = map[string]bool{
	"ConfigMap": true, "Secret": true, "Service": true, "ServiceAccount": true, "Role": true, "ClusterRole": true, "RoleBinding": true,
	"ClusterRoleBinding": true, "CustomResourceDefinition": true, "Namespace": true, "NetworkPolicy": true, "PodDisruptionBudget": true,
	"Ingress": true, "HorizontalPodAutoscaler": true, "PriorityClass": true, "StorageClass": true, "IngressClass": true,
}

// mentions returns the resources that a manifest mentions: by name, in a field of its own,
// or by the address of a Service, which stands for the workloads behind it, too.
func (m *mayNeed) mentions(r ordering.Resource, namespace string) []object.ID {
	var out []object.ID
	texts := strings.Join(namingTexts(r.Object, "", r.Kind == "ConfigMap"), "\n")
	for key, all := range m.named {
		ns, name, _ := strings.Cut(key, "/")
		for _, other := range all {
			if !strings.Contains(texts, name) && !strings.Contains(texts, "_SERVICE_HOST") {
				continue
			}
			quoted := regexp.QuoteMeta(name)
			var pattern string
			switch {
			case other.Kind == "Service" && ns == namespace:
				pattern = `(?m)(//|@)` + quoted + `\b[^-]|(?m)(^|[^a-z0-9.-])` + quoted + `(:[0-9]|\.` + regexp.QuoteMeta(ns) + `\b)|\b` + strings.ToUpper(strings.ReplaceAll(quoted, "-", "_")) + `_SERVICE_HOST`
			case other.Kind == "Service":
				pattern = `(?m)(^|[^a-z0-9.-])` + quoted + `\.` + regexp.QuoteMeta(ns) + `\b`
			case ns == namespace && r.Kind != "ConfigMap" && r.Kind != "Secret":
				pattern = `(?m)^(field )` + quoted + `$`
			default:
				continue
			}
			if regexp.MustCompile(pattern).MatchString(texts) {
				out = append(out, other.ID)
				if other.Kind == "Service" {
					out = append(out, m.behind(other)...)
				}
			}
		}
	}
	return out
}

// writers returns the workloads that may be the controller of a custom resource: they run
// as an account with a role that names the kind, and the verb update or patch.
func (m *mayNeed) writers(r ordering.Resource) []object.ID {
	if object.IsNative(r.Group) {
		return nil
	}
	roles := map[string]bool{}
	for id, role := range m.byID {
		if (id.Kind == "Role" || id.Kind == "ClusterRole") && mayWrite(role.Object, r.Group, object.GuessPlural(r.Kind)) {
			roles[id.Kind+"/"+id.Name] = true
		}
	}
	accounts := map[string]bool{}
	for _, binding := range m.byID {
		ref, _ := binding.Object["roleRef"].(map[string]any)
		if ref == nil || !roles[fmt.Sprint(ref["kind"])+"/"+fmt.Sprint(ref["name"])] {
			continue
		}
		subjects, _ := binding.Object["subjects"].([]any)
		for _, subject := range subjects {
			of, _ := subject.(map[string]any)
			accounts[fmt.Sprint(of["namespace"])+"/"+fmt.Sprint(of["name"])] = true
		}
	}
	var out []object.ID
	for id, workload := range m.byID {
		spec, _ := workload.Object["spec"].(map[string]any)
		template, _ := spec["template"].(map[string]any)
		pod, _ := template["spec"].(map[string]any)
		if pod != nil && accounts[id.Namespace+"/"+fmt.Sprint(pod["serviceAccountName"])] {
			out = append(out, id)
		}
	}
	return out
}

func mayWrite(role map[string]any, group, plural string) bool {
	rules, _ := role["rules"].([]any)
	return slices.ContainsFunc(rules, func(rule any) bool {
		has := func(field string, values ...string) bool {
			list, _ := rule.(map[string]any)[field].([]any)
			return slices.ContainsFunc(list, func(v any) bool { return slices.Contains(values, fmt.Sprint(v)) })
		}
		return has("apiGroups", group) && has("resources", "*", plural, plural+"/status") && has("verbs", "*", "update", "patch")
	})
}

// behind returns the workloads whose Pods a Service selects.
func (m *mayNeed) behind(service ordering.Resource) []object.ID {
	spec, _ := service.Object["spec"].(map[string]any)
	selector, _ := spec["selector"].(map[string]any)
	var out []object.ID
	for id, r := range m.byID {
		spec, _ := r.Object["spec"].(map[string]any)
		template, _ := spec["template"].(map[string]any)
		meta, _ := template["metadata"].(map[string]any)
		labels, _ := meta["labels"].(map[string]any)
		matches := len(selector) > 0 && id.Namespace == service.Namespace
		for key, value := range selector {
			matches = matches && labels[key] == value
		}
		if matches {
			out = append(out, id)
		}
	}
	return out
}

// namingTexts returns the texts of a manifest, a line each. Texts of fields that name other
// objects begin with "field".
func namingTexts(v any, key string, data bool) []string {
	var out []string
	switch v := v.(type) {
	case string:
		switch {
		case data || key == "value" || key == "args" || key == "command":
			out = append(out, v)
		case strings.HasSuffix(key, "Name") || strings.HasSuffix(key, "Ref") || key == "name":
			out = append(out, "field "+v)
		}
	case []any:
		for _, item := range v {
			if m, ok := item.(map[string]any); ok && key != "templates" {
				item = maps.Clone(m)
				delete(item.(map[string]any), "name")
			}
			out = append(out, namingTexts(item, key, data)...)
		}
	case map[string]any:
		for field, value := range v {
			switch field {
			case "metadata", "selector", "serviceAccountName", "priorityClassName", "storageClassName", "serviceAccount", "ingressClassName", "runtimeClassName", "status", "image", "matchLabels", "labels":
			default:
				out = append(out, namingTexts(value, field, data)...)
			}
		}
	}
	return out
}
