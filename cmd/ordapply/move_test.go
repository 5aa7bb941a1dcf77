package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/test/recorder"
	"github.com/ordapply/ordapply/test/testcluster"
)

// Objects that were applied without a set move into one with one request each, and one whose
// manifest was changed meanwhile with two. Nothing is read for each object.
func TestRequestBudgetOfAMove(t *testing.T) {
	const n = 30
	cluster := shared.Get(t)
	cluster.Kubectl(t, "create", "namespace", "moving-budget")
	var stream bytes.Buffer
	for i := range n {
		fmt.Fprintf(&stream, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%[1]d, namespace: moving-budget}\ndata: {n: \"%[1]d\"}\n", i)
		fmt.Fprintf(&stream, "---\napiVersion: v1\nkind: Service\nmetadata: {name: s%d, namespace: moving-budget}\nspec: {ports: [{port: 80}]}\n", i)
	}
	proxy := recorder.Start(t, cluster.Kubeconfig)
	code, output := applyThrough(proxy.Kubeconfig, stream.Bytes())
	require.Equal(t, report.ExitDone, code, output)

	proxy.Reset()
	code, output = applyThrough(proxy.Kubeconfig, stream.Bytes(), "--applyset", "moved", "-n", "moving-budget")
	require.Equal(t, report.ExitDone, code, output)
	verbs, others := map[string]int{}, map[string]int{}
	for _, r := range proxy.Requests() {
		switch {
		case r.Resource == "configmaps" || r.Resource == "services":
			verbs[r.Verb]++
		case r.Verb != "review":
			others[r.Verb]++
		}
	}
	t.Logf("%d objects: %v, requests of the set %v", 2*n, verbs, others)
	require.Equal(t, 2*n, verbs["patch"])
	require.Zero(t, verbs["get"])
	require.LessOrEqual(t, verbs["list"], 6)

	proxy.Reset()
	code, output = applyThrough(proxy.Kubeconfig, stream.Bytes(), "--applyset", "moved", "-n", "moving-budget")
	require.Equal(t, report.ExitDone, code, output)
	require.False(t, slices.ContainsFunc(proxy.Requests(), func(r recorder.Request) bool {
		return r.Verb == "patch" && (r.Resource == "configmaps" || r.Resource == "services")
	}), "the move is complete: the next run sends nothing")
}

// An object that moved into a set is as one that was created in it, with the same owners of
// the same fields, and with what others wrote to it meanwhile. Only its fingerprint is that of
// the run without the set, and the set's manager owns the label by an update.
func TestMovedObjectsAreAsCreatedOnes(t *testing.T) {
	cluster := shared.Get(t)
	const namespace = "moving-owners"
	cluster.Kubectl(t, "create", "namespace", namespace)
	stream := strings.ReplaceAll(`
apiVersion: v1
kind: ConfigMap
metadata: {name: plain, namespace: NS, labels: {app: plain}}
data: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: bare, namespace: NS}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: annotated, namespace: NS, annotations: {mine: "1"}}
data: {a: "1"}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: NS}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: scaled, namespace: NS}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: c}]}}}
`, "NS", namespace)
	others := func() {
		cluster.Kubectl(t, "annotate", "configmap", "annotated", "theirs=2", "-n", namespace)
		cluster.Kubectl(t, "scale", "deployment", "scaled", "--replicas=2", "-n", namespace)
	}
	set := []string{"--applyset", "owners", "-n", namespace, "--wait=false"}

	code, output := applyThrough(cluster.Kubeconfig, []byte(stream), "--wait=false")
	require.Equal(t, report.ExitDone, code, output)
	others()
	before := liveObjects(t, cluster, namespace)
	proxy := recorder.Start(t, cluster.Kubeconfig)
	code, output = applyThrough(proxy.Kubeconfig, []byte(stream), set...)
	require.Equal(t, report.ExitDone, code, output)
	require.Zero(t, countOf(proxy.Requests(), "get", "configmaps")+countOf(proxy.Requests(), "get", "deployments"))
	moved := liveObjects(t, cluster, namespace)
	for id, live := range moved {
		require.Equal(t, before[id].GetUID(), live.GetUID(), id)
	}

	code, output = ordapplyWith(cluster.Kubeconfig, "delete", "--applyset", "owners", "-n", namespace, "--yes")
	require.Equal(t, report.ExitDone, code, output)
	code, output = applyThrough(cluster.Kubeconfig, []byte(stream), set...)
	require.Equal(t, report.ExitDone, code, output)
	others()
	created := liveObjects(t, cluster, namespace)
	require.Len(t, created, 5)
	for id, live := range created {
		require.Equal(t, ownersOf(live), withJoined(ownersOf(moved[id])), id)
		require.Equal(t, authored(live), authored(moved[id]), id)
	}
}

// A moved object is a member in every respect: the next run leaves it as it is, a change needs one
// request and removes what the manifest no longer has, another set is refused, and so is a run
// without a set.
func TestMovedObjectsAreMembers(t *testing.T) {
	cluster := shared.Get(t)
	const namespace = "moving-members"
	cluster.Kubectl(t, "create", "namespace", namespace)
	stream := func(data string) []byte {
		return fmt.Appendf(nil, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: changed, namespace: %[1]s}\ndata: %[2]s\n---\n"+
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: same, namespace: %[1]s, labels: {app: x}}\ndata: {a: \"1\"}\n", namespace, data)
	}
	before, after := stream(`{a: "1", b: "2"}`), stream(`{a: "3"}`)
	apply := func(want int, text []byte, flags ...string) string {
		t.Helper()
		code, output := applyThrough(cluster.Kubeconfig, text, flags...)
		require.Equal(t, want, code, output)
		return output
	}
	set := []string{"--applyset", "members", "-n", namespace}
	apply(report.ExitDone, before)
	apply(report.ExitDone, before, set...)

	require.Contains(t, apply(report.ExitFailed, before, "--applyset", "another", "-n", namespace), "it is a member of another apply set (Secret "+namespace+"/members)")
	require.Contains(t, apply(report.ExitFailed, before), "--applyset members")
	require.Contains(t, apply(report.ExitDone, before, set...), "2 unchanged")

	proxy := recorder.Start(t, cluster.Kubeconfig)
	code, output := applyThrough(proxy.Kubeconfig, after, set...)
	require.Equal(t, report.ExitDone, code, output)
	require.Equal(t, 1, countOf(proxy.Requests(), "patch", "configmaps"))
	changed := liveObjects(t, cluster, namespace)["ConfigMap/changed"]
	require.Equal(t, map[string]any{"a": "3"}, changed.Object["data"])
	require.Contains(t, apply(report.ExitDone, after, set...), "2 unchanged")

	one, _, _ := bytes.Cut(after, []byte("---"))
	apply(report.ExitDone, one, append(set, "--prune")...)
	require.NotContains(t, liveObjects(t, cluster, namespace), "ConfigMap/same")
	apply(report.ExitDone, one, append(set, "--take-over")...)
}

// An object whose manifest was changed since, or that others changed, moves with two writes: the
// owner of the fields, then the PATCH.
func TestChangedObjectsMoveWithTheirChange(t *testing.T) {
	cluster := shared.Get(t)
	const namespace = "moving-changed"
	cluster.Kubectl(t, "create", "namespace", namespace)
	stream := func(data string) []byte {
		return fmt.Appendf(nil, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: %s}\ndata: %s\n", namespace, data)
	}
	code, output := applyThrough(cluster.Kubeconfig, stream(`{a: "1", b: "2"}`))
	require.Equal(t, report.ExitDone, code, output)
	proxy := recorder.Start(t, cluster.Kubeconfig)
	code, output = applyThrough(proxy.Kubeconfig, stream(`{a: "1"}`), "--applyset", "changed", "-n", namespace)
	require.Equal(t, report.ExitDone, code, output)
	require.Equal(t, 2, countOf(proxy.Requests(), "patch", "configmaps"))
	require.Zero(t, countOf(proxy.Requests(), "get", "configmaps"))
	live := liveObjects(t, cluster, namespace)["ConfigMap/c"]
	require.Equal(t, map[string]any{"a": "1"}, live.Object["data"])
	require.Len(t, ownersOf(live), 1)
}

// What happens to an object between its read and its move is not lost.
func TestMoveOfAnObjectThatChangesMeanwhile(t *testing.T) {
	cluster := shared.Get(t)
	const namespace = "moving-meanwhile"
	cluster.Kubectl(t, "create", "namespace", namespace)
	for name, c := range map[string]struct {
		meanwhile []string
		fault     recorder.Fault
		code      int
		says      string
		data      string
	}{
		"annotated": {meanwhile: []string{"annotate", "configmap", "annotated", "theirs=1"}, data: "1"},
		"edited":    {meanwhile: []string{"patch", "configmap", "edited", "-p", `{"data": {"a": "9"}}`}, code: report.ExitFailed, says: `"kubectl-patch"`, data: "9"},
		"labelled":  {meanwhile: []string{"label", "configmap", "labelled", applyset.PartOfLabel + "=another"}, code: report.ExitFailed, says: applyset.PartOfLabel, data: "1"},
		"deleted":   {meanwhile: []string{"delete", "configmap", "deleted"}, data: "1"},
		"cut-off":   {fault: recorder.Reset, data: "1"},
		"denied":    {fault: recorder.Status(403, metav1.StatusReasonForbidden, `admission webhook "labels.example.com" denied the request: no`), code: report.ExitFailed, says: "denied the request: no", data: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			stream := fmt.Appendf(nil, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\ndata: {a: \"1\"}\n", name, namespace)
			code, output := applyThrough(cluster.Kubeconfig, stream)
			require.Equal(t, report.ExitDone, code, output)
			proxy := recorder.Start(t, cluster.Kubeconfig)
			var once sync.Once
			proxy.Inject(func(r *recorder.Request) (fault recorder.Fault) {
				if r.Verb != "patch" || r.Resource != "configmaps" {
					return nil
				}
				once.Do(func() {
					if fault = c.fault; fault == nil {
						cluster.Kubectl(t, append(c.meanwhile, "-n", namespace)...)
					}
				})
				return fault
			})
			code, output = applyThrough(proxy.Kubeconfig, stream, "--applyset", name, "-n", namespace)
			require.Equal(t, c.code, code, output)
			require.Contains(t, output, c.says)
			live := liveObjects(t, cluster, namespace)["ConfigMap/"+name]
			require.Equal(t, map[string]any{"a": c.data}, live.Object["data"])
			member := strings.HasPrefix(live.GetLabels()[applyset.PartOfLabel], "applyset-")
			require.Equal(t, c.code == report.ExitDone, member)
			require.Equal(t, name == "annotated", live.GetAnnotations()["theirs"] == "1")
			if name == "denied" {
				require.Equal(t, 1, countOf(proxy.Requests(), "patch", "configmaps"), "its fields are not taken over")
			}
		})
	}
}

// One write cannot leave a moved object as a created one. An update leaves what it changes with an
// update's entry, whatever managedFields it brings: the label, and no field of the manifest. An
// apply leaves the fields also with the manager that applied them before, so that a later apply
// would not remove them.
func TestOneWriteThatMovesAnObject(t *testing.T) {
	cluster := shared.Get(t)
	const namespace = "moving-once"
	cluster.Kubectl(t, "create", "namespace", namespace)
	for _, name := range []string{"updated", "applied"} {
		code, output := applyThrough(cluster.Kubeconfig, fmt.Appendf(nil, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s, labels: {app: x}}\ndata: {a: \"1\"}\n", name, namespace))
		require.Equal(t, report.ExitDone, code, output)
	}

	live := liveObjects(t, cluster, namespace)["ConfigMap/updated"]
	text, err := json.Marshal(live.GetManagedFields())
	require.NoError(t, err)
	cluster.Kubectl(t, "patch", "configmap", "updated", "-n", namespace, "--type=json", "--field-manager=ordapply:set", "-p",
		`[{"op":"replace","path":"/metadata/managedFields","value":`+strings.ReplaceAll(string(text), `"manager":"ordapply"`, `"manager":"ordapply:set"`)+`},`+
			`{"op":"add","path":"/metadata/labels/applyset.kubernetes.io~1part-of","value":"set"}]`)
	live = liveObjects(t, cluster, namespace)["ConfigMap/updated"]
	require.Equal(t, []string{"ordapply:set Apply"}, ownersOfField(live, "data", "a"))
	require.Equal(t, []string{"ordapply:set Update"}, ownersOfField(live, "metadata", "labels", applyset.PartOfLabel))

	client := cluster.Client(t)
	member := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "1"},
		"metadata": map[string]any{"name": "applied", "namespace": namespace, "labels": map[string]any{"app": "x", applyset.PartOfLabel: "set"}},
	}}
	live, err = client.Apply(t.Context(), kube.CoreKind("configmaps"), member, kube.PatchOptions{Manager: "ordapply:set", Force: true})
	require.NoError(t, err)
	require.Equal(t, []string{"ordapply:set Apply"}, ownersOfField(live, "metadata", "labels", applyset.PartOfLabel))
	require.Equal(t, []string{"ordapply Apply", "ordapply:set Apply"}, ownersOfField(live, "data", "a"))
}

// countOf returns the number of requests of a verb for a resource.
func countOf(requests []recorder.Request, verb, resource string) int {
	n := 0
	for _, r := range requests {
		if r.Verb == verb && r.Resource == resource {
			n++
		}
	}
	return n
}

// liveObjects returns the objects of the streams in these tests, by kind and name.
func liveObjects(t *testing.T, cluster *testcluster.Cluster, namespace string) map[string]*unstructured.Unstructured {
	t.Helper()
	client, found := cluster.Client(t), map[string]*unstructured.Unstructured{}
	for _, gvk := range []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Service"}, {Group: "apps", Version: "v1", Kind: "Deployment"}} {
		kind, _ := client.Kind(gvk)
		all, err := client.List(t.Context(), kind, namespace, kube.Query{})
		require.NoError(t, err)
		for _, live := range all {
			if live.GetName() != "kube-root-ca.crt" && !strings.HasPrefix(live.GetName(), "ordapply") {
				found[gvk.Kind+"/"+live.GetName()] = live
			}
		}
	}
	return found
}

// ownersOf returns the fields of each manager of an object, without the status.
func ownersOf(live *unstructured.Unstructured) map[string][]string {
	owners := map[string][]string{}
	for _, entry := range live.GetManagedFields() {
		if entry.Subresource == "status" {
			continue
		}
		who := strings.TrimSpace(fmt.Sprint(entry.Manager, " ", entry.Operation, " ", entry.Subresource))
		owners[who] = []string{entry.APIVersion}
		for path := range applyset.FieldsOf(entry).All() {
			owners[who] = append(owners[who], path.String())
		}
		slices.Sort(owners[who])
	}
	return owners
}

// withJoined returns the owners of a moved object as if an apply had added the label.
func withJoined(owners map[string][]string) map[string][]string {
	for who, paths := range owners {
		manager, isUpdate := strings.CutSuffix(who, " Update")
		if !isUpdate || !strings.HasPrefix(manager, "ordapply:") {
			continue
		}
		delete(owners, who)
		for _, path := range paths {
			if strings.HasSuffix(path, applyset.PartOfLabel) {
				owners[manager+" Apply"] = append(owners[manager+" Apply"], path)
			}
		}
		slices.Sort(owners[manager+" Apply"])
	}
	return owners
}

// ownersOfField returns the managers of a field.
func ownersOfField(live *unstructured.Unstructured, path ...any) (found []string) {
	for who, paths := range ownersOf(live) {
		if slices.Contains(paths, fieldpath.MakePathOrDie(path...).String()) {
			found = append(found, who)
		}
	}
	slices.Sort(found)
	return found
}

// authored returns an object without what the API server and controllers assign to each one.
func authored(live *unstructured.Unstructured) map[string]any {
	out := live.DeepCopy()
	for _, path := range [][]string{
		{"status"}, {"spec", "clusterIP"}, {"spec", "clusterIPs"}, {"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "creationTimestamp"},
		{"metadata", "generation"}, {"metadata", "managedFields"}, {"metadata", "annotations", "deployment.kubernetes.io/revision"}, {"metadata", "annotations", applyset.AppliedAnnotation},
	} {
		unstructured.RemoveNestedField(out.Object, path...)
	}
	return out.Object
}

// An admission policy removes the label of a set. The run says so; when the policy is gone, the next
// run makes the objects members: one that was to move into the set, and one that was a member.
func TestObjectsThatLostTheirLabelBecomeMembersAgain(t *testing.T) {
	cluster := shared.Get(t)
	const namespace = "label-lost"
	cluster.Kubectl(t, "create", "namespace", namespace)
	configMap := func(name, data string) []byte {
		return fmt.Appendf(nil, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\ndata: {a: %q}\n---\n", name, namespace, data)
	}
	set := []string{"--applyset", "shop", "-n", namespace}
	apply := func(want int, text []byte, flags ...string) string {
		t.Helper()
		code, output := applyThrough(cluster.Kubeconfig, text, flags...)
		require.Equal(t, want, code, output)
		return output
	}
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(policy, []byte(labelRemover), 0o644))
	removes := func() bool {
		cluster.Kubectl(t, "label", "configmap", "probe", "-n", namespace, "--overwrite", "applyset.kubernetes.io/part-of=none", fmt.Sprint("try=", time.Now().UnixNano()))
		return liveObjects(t, cluster, namespace)["ConfigMap/probe"].GetLabels()["applyset.kubernetes.io/part-of"] == ""
	}
	apply(report.ExitDone, configMap("moves", "1"))
	apply(report.ExitDone, configMap("member", "1"), set...)
	cluster.Kubectl(t, "create", "configmap", "probe", "-n", namespace)
	cluster.Kubectl(t, "apply", "-f", policy)
	require.Eventually(t, removes, time.Minute, 100*time.Millisecond)
	both := append(configMap("moves", "1"), configMap("member", "2")...)
	output := apply(report.ExitFailed, both, set...)
	require.Regexp(t, `(?s)the API server stored it without the label .*\n  ConfigMap label-lost/member\n  ConfigMap label-lost/moves\n`, output)

	cluster.Kubectl(t, "delete", "-f", policy)
	require.Eventually(t, func() bool { return !removes() }, time.Minute, 100*time.Millisecond)
	require.NotContains(t, apply(report.ExitDone, both, set...), "unchanged")
	for _, name := range []string{"moves", "member"} {
		require.NotEmpty(t, liveObjects(t, cluster, namespace)["ConfigMap/"+name].GetLabels()["applyset.kubernetes.io/part-of"], name)
	}
	require.Contains(t, apply(report.ExitDone, both, set...), "2 unchanged")
}

// labelRemover is a policy that removes the label of apply sets in a namespace.
const labelRemover = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: label-lost}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: label-lost}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [configmaps]}]
  matchConditions:
    - {name: labelled, expression: "has(object.metadata.labels) && 'applyset.kubernetes.io/part-of' in object.metadata.labels"}
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations:
    - patchType: JSONPatch
      jsonPatch: {expression: '[JSONPatch{op: "remove", path: "/metadata/labels/applyset.kubernetes.io~1part-of"}]'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: label-lost}
spec: {policyName: label-lost}
`
