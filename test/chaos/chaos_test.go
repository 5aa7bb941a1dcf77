package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/test/recorder"
	"github.com/ordapply/ordapply/test/testcluster"
)

// A run that is killed at any of its requests leaves no member that the set
// does not know, and does not touch foreign objects; the next run converges. Of
// each act a dozen requests are tried, most of them on a small set and some on a large one;
// `make chaos` tries every request on both.
func TestChaos(t *testing.T) {
	lab := newSteadyLab(t)
	lab.summarize(t, "runs killed")
	for _, act := range chaosActs() {
		t.Run(act.name, func(t *testing.T) {
			lab.tryAll(t, act, 12, 8)
			lab.tryAll(t, act, 60, 4)
		})
	}
}

// allChaos reports whether everything is tried, as by `make chaos`.
func allChaos() bool { return os.Getenv("ORDAPPLY_CHAOS") == "all" }

// chaosCommand returns the ordapply binary to try.
func chaosCommand(t *testing.T) string {
	t.Helper()
	bin, err := testcluster.Find("ordapply")
	if err != nil {
		testcluster.Skip(t, "the ordapply command (run `make build`)")
	}
	return bin
}

// chaosAct is a command on a set, which is killed.
type chaosAct struct {
	name     string
	kubectls bool       // the old stream is an apply set of kubectl's
	moves    bool       // the old stream was applied without a set
	before   [][]string // the commands before it
	command  []string
	after    string // the expected stream at the end: "old", "new", or "" for none
	// over reports that nothing was left to do, so that running it again would
	// be another act.
	over func(trial, *testing.T) bool
}

func chaosActs() []chaosAct {
	return []chaosAct{
		{name: "apply", command: applies("old.yaml"), after: "old"},
		{name: "prune", before: [][]string{applies("old.yaml")}, command: applies("new.yaml"), after: "new"},
		{name: "move", moves: true, before: [][]string{{"apply", "-f", "old.yaml"}}, command: applies("old.yaml"), after: "old"},
		{name: "take-over", kubectls: true, command: append(applies("new.yaml"), "--take-over"), after: "new"},
		{name: "delete", before: [][]string{applies("old.yaml")}, command: []string{"delete", "--applyset", "set", "-n", "NAMESPACE"}},
		{
			name: "rollback", before: [][]string{applies("old.yaml"), applies("new.yaml")},
			command: []string{"rollback", "set", "-n", "NAMESPACE"}, after: "old", over: trial.rolledBack,
		},
	}
}

// applies returns the command that applies a stream to the set.
func applies(stream string) []string {
	return []string{"apply", "-f", stream, "--applyset", "set", "-n", "NAMESPACE", "--prune"}
}

// chaosLab is the environment of the trials.
type chaosLab struct {
	bin     string
	cluster *testcluster.Cluster
	client  *kube.Kubernetes
	tally   *chaosTally
	widgets bool // the streams contain custom resources
}

// chaosTally counts the trials of a lab.
type chaosTally struct{ trials, failures atomic.Int32 }

// summarize prints the number of trials and failures at the end.
func (lab chaosLab) summarize(t *testing.T, what string) {
	t.Cleanup(func() {
		fmt.Printf("chaos: %s: %d trials, %d failures\n", what, lab.tally.trials.Load(), lab.tally.failures.Load())
	})
}

// counted counts a test as a trial.
func (lab chaosLab) counted(t *testing.T) {
	lab.tally.trials.Add(1)
	t.Cleanup(func() {
		if t.Failed() {
			lab.tally.failures.Add(1)
		}
	})
}

func newChaosLab(t *testing.T, bin string, cluster *testcluster.Cluster) chaosLab {
	return chaosLab{bin: bin, cluster: cluster, client: cluster.Client(t), tally: &chaosTally{}}
}

// newSteadyLab returns a lab whose kinds do not change.
func newSteadyLab(t *testing.T) chaosLab {
	return newChaosLab(t, chaosCommand(t), steady.Get(t)).withWidgets(t)
}

// chaosWidget is a custom kind of the streams. Its CRD is in no set.
var chaosWidget = schema.GroupVersionKind{Group: "chaos.example.com", Version: "v1", Kind: "Widget"}

// withWidgets creates that kind.
func (lab chaosLab) withWidgets(t *testing.T) chaosLab {
	t.Helper()
	const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.chaos.example.com}
spec:
  group: chaos.example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`
	obj := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(crd), &obj.Object))
	kind, _ := lab.client.Kind(obj.GroupVersionKind())
	_, err := lab.client.Apply(t.Context(), kind, obj, kube.PatchOptions{Manager: "chaos"})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_ = lab.client.Refresh(t.Context(), chaosWidget.GroupVersion())
		_, served := lab.client.Kind(chaosWidget)
		return served
	}, 3*time.Minute, 100*time.Millisecond)
	lab.widgets = true
	return lab
}

// tryAll tries a sample of an act's requests on a set of that size, or all of them.
func (lab chaosLab) tryAll(t *testing.T, act chaosAct, size, sample int) {
	total := lab.count(t, act, size)
	t.Logf("%s of %d objects makes %d requests", act.name, size, total)
	var ks []int
	for k := 1; k <= total; k++ {
		ks = append(ks, k)
	}
	if !allChaos() {
		rng := rand.New(rand.NewPCG(uint64(size), 1))
		rng.Shuffle(len(ks), func(i, j int) { ks[i], ks[j] = ks[j], ks[i] })
		ks = ks[:min(sample, len(ks))]
		slices.Sort(ks)
	}
	for _, k := range ks {
		t.Run(fmt.Sprintf("%d objects, request %d", size, k), func(t *testing.T) {
			t.Parallel()
			lab.counted(t)
			lab.try(t, act, size, k)
		})
	}
}

// count runs an act to its end and returns its number of requests.
func (lab chaosLab) count(t *testing.T, act chaosAct, size int) int {
	trial := lab.newTrial(t, act, size, "whole")
	proxy := recorder.Start(t, lab.cluster.Kubeconfig)
	output, err := trial.command(proxy.Kubeconfig, act.command).CombinedOutput()
	require.NoError(t, err, string(output))
	trial.converged(t, act)
	return len(proxy.Requests())
}

// try kills an act at its k-th request, checks the state, and runs it again.
func (lab chaosLab) try(t *testing.T, act chaosAct, size, k int) {
	trial := lab.newTrial(t, act, size, fmt.Sprint(k))
	proxy := recorder.Start(t, lab.cluster.Kubeconfig)
	cmd := trial.command(proxy.Kubeconfig, act.command)
	var arrived atomic.Int32
	_ = proxy.RunSignalled(cmd, os.Kill, func(*recorder.Request) bool { return arrived.Add(1) == int32(k) })
	trial.knowsAll(t)
	trial.breakLock(t)
	if act.over != nil && act.over(trial, t) {
		trial.converged(t, act)
		return
	}
	output, err := trial.command(lab.cluster.Kubeconfig, act.command).CombinedOutput()
	if act.after == "" && err != nil { // everything was deleted, except perhaps a terminating Namespace
		require.Contains(t, string(output), "not found: nothing to delete")
		lab.cluster.Kubectl(t, "wait", "namespace/"+trial.namespace, "--for=delete", "--timeout=3m")
	} else {
		require.NoError(t, err, string(output))
	}
	trial.knowsAll(t)
	trial.converged(t, act)
}

// create creates an object without ordapply.
func (lab chaosLab) create(t *testing.T, kind, namespace, name string, labels map[string]string) {
	t.Helper()
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind})
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.SetLabels(labels)
	served, _ := lab.client.Kind(obj.GroupVersionKind())
	_, err := lab.client.Create(t.Context(), served, obj)
	require.NoError(t, err)
}

// trial is a set in its own namespace, with foreign objects in another one that
// its stream uses too.
type trial struct {
	chaosLab
	dir       string
	namespace string
	size      int
	moves     bool // objects may be in no set yet
}

func (lab chaosLab) newTrial(t *testing.T, act chaosAct, size int, name string) trial {
	tr := trial{chaosLab: lab, dir: t.TempDir(), namespace: fmt.Sprintf("chaos-%s-%d-%s", act.name, size, name), size: size, moves: act.moves}
	foreign := tr.namespace + "-foreign"
	lab.create(t, "Namespace", "", foreign, nil)
	lab.create(t, "ConfigMap", foreign, "theirs", map[string]string{applyset.PartOfLabel: tr.parent().SetID()})
	for name, members := range map[string][]string{"old": tr.members("old"), "new": tr.members("new"), "second": tr.members("old")} {
		text := chaosStream(tr.namespace, name, members)
		require.NoError(t, os.WriteFile(filepath.Join(tr.dir, name+".yaml"), []byte(text), 0o600))
	}
	if act.kubectls {
		tr.applyAsKubectl(t)
	}
	for _, args := range act.before {
		output, err := tr.command(lab.cluster.Kubeconfig, args).CombinedOutput()
		require.NoError(t, err, string(output))
	}
	return tr
}

// applyAsKubectl writes the old stream, and the parent of its set, as kubectl
// does.
func (tr trial) applyAsKubectl(t *testing.T) {
	t.Helper()
	put := func(obj *unstructured.Unstructured) {
		kind, _ := tr.client.Kind(obj.GroupVersionKind())
		_, err := tr.client.Apply(t.Context(), kind, obj, kube.PatchOptions{Manager: "kubectl"})
		require.NoError(t, err)
	}
	promise := tr.parent()
	promise.Tooling = "kubectl/v1.36"
	for text := range strings.SplitSeq(chaosStream(tr.namespace, "old", tr.members("old")), "---\n") {
		obj := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(text), &obj.Object))
		obj.SetLabels(map[string]string{applyset.PartOfLabel: promise.SetID()})
		put(obj)
		promise = promise.WithMembers([]object.ID{kube.Meta(obj).ID})
	}
	parent := &unstructured.Unstructured{}
	parent.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Secret"})
	parent.SetNamespace(promise.ID.Namespace)
	parent.SetName(promise.ID.Name)
	parent.SetLabels(map[string]string{applyset.IDLabel: promise.SetID()})
	parent.SetAnnotations(promise.Annotations())
	put(parent)
}

// parent returns the set's parent without kinds.
func (tr trial) parent() applyset.Parent {
	p := applyset.Parent{}
	p.ID.Kind, p.ID.Namespace, p.ID.Name = "Secret", tr.namespace, "set"
	return p
}

// command returns an ordapply command in the trial's folder.
func (tr trial) command(kubeconfig string, args []string) *exec.Cmd {
	args = slices.Clone(args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "NAMESPACE", tr.namespace)
	}
	args = append(args, "--kubeconfig", kubeconfig, "--wave-timeout", "3m")
	if args[0] != "apply" || slices.Contains(args, "--applyset") { // without a set there is no lock
		args = append(args, "--lock-timeout", "3m")
	}
	cmd := exec.Command(tr.bin, args...)
	cmd.Dir = tr.dir
	return cmd
}

// members returns the names of a stream's objects: old and new share some of
// them. Each has a kind that the other does not have, and old a namespace, so
// that the parent must list more before the first write and less after the last
// deletion.
func (tr trial) members(stream string) []string {
	var out []string
	if stream == "old" && tr.widgets {
		out = append(out, "widget-old")
	}
	for i := range tr.size - 1 { // and the Namespace
		kind := []string{"configmap", "secret", "serviceaccount", "service", "deployment"}[i%5]
		if stream == "old" || i%2 == 0 && kind != "service" {
			out = append(out, fmt.Sprintf("%s-%d", kind, i))
		}
	}
	if stream == "new" {
		out = append(out, "limitrange-new")
	}
	return out
}

// chaosStream returns a Namespace with objects of several kinds; unless it is
// new, the last is in a foreign namespace. Each object names its stream.
func chaosStream(namespace, stream string, members []string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", namespace)
	for i, name := range members {
		where := namespace
		if i == len(members)-1 && !strings.HasSuffix(name, "-new") {
			where += "-foreign"
		}
		meta := fmt.Sprintf("metadata: {name: %s, namespace: %s, annotations: {chaos: %s, ordapply.dev/layer: app/l%d, ordapply.dev/wave: %q}}", name, where, stream, i%3, fmt.Sprint(i%3))
		kind, _, _ := strings.Cut(name, "-")
		switch kind {
		case "configmap":
			fmt.Fprintf(&out, "---\napiVersion: v1\nkind: ConfigMap\n%s\n", meta)
		case "secret":
			fmt.Fprintf(&out, "---\napiVersion: v1\nkind: Secret\n%s\n", meta)
		case "widget":
			fmt.Fprintf(&out, "---\napiVersion: chaos.example.com/v1\nkind: Widget\n%s\n", meta)
		case "limitrange":
			fmt.Fprintf(&out, "---\napiVersion: v1\nkind: LimitRange\n%s\n", meta)
		case "serviceaccount":
			fmt.Fprintf(&out, "---\napiVersion: v1\nkind: ServiceAccount\n%s\n", meta)
		case "service":
			fmt.Fprintf(&out, "---\napiVersion: v1\nkind: Service\n%s\nspec: {selector: {app: a}, ports: [{port: 80}]}\n", meta)
		case "deployment":
			fmt.Fprintf(&out, "---\napiVersion: apps/v1\nkind: Deployment\n%s\nspec: {selector: {matchLabels: {a: %[2]s}}, template: {metadata: {labels: {a: %[2]s}}, spec: {containers: [{name: c, image: c}]}}}\n", meta, name)
		}
	}
	return out.String()
}

// found returns the live members of the set and the parent, if it exists. It
// also checks that foreign objects are unchanged.
func (tr trial) found(t *testing.T) (members []*unstructured.Unstructured, parent *unstructured.Unstructured) {
	t.Helper()
	foreign := false
	for _, obj := range tr.objects(t) {
		switch {
		case obj.GetName() == "theirs":
			foreign = obj.GetDeletionTimestamp() == nil
		case obj.GetLabels()[applyset.IDLabel] == tr.parent().SetID():
			parent = obj
		case applyset.Owner(obj) == tr.parent().SetID():
			members = append(members, obj)
		default:
			require.False(t, tr.isOurs(obj) && !tr.moves, "%s %s is ours and no member", obj.GetKind(), obj.GetName())
		}
	}
	require.True(t, foreign, "what is foreign was deleted")
	return members, parent
}

// objects returns the objects in the trial's namespaces, and its Namespace.
func (tr trial) objects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	kinds := []schema.GroupVersionKind{
		{Version: "v1", Kind: "Namespace"}, {Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Secret"},
		{Version: "v1", Kind: "ServiceAccount"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "LimitRange"}, {Group: "apps", Version: "v1", Kind: "Deployment"},
	}
	if tr.widgets {
		kinds = append(kinds, chaosWidget)
	}
	for _, gvk := range kinds {
		kind, _ := tr.client.Kind(gvk)
		for _, namespace := range []string{tr.namespace, tr.namespace + "-foreign"} {
			query := kube.Query{Metadata: true}
			if !kind.Namespaced {
				query.Fields = "metadata.name=" + namespace
			}
			objects, err := tr.client.List(t.Context(), kind, namespace, query)
			require.NoError(t, err)
			for _, obj := range objects {
				obj.SetGroupVersionKind(gvk)
				found = append(found, obj)
			}
		}
	}
	return found
}

// isOurs reports whether an object is one of the streams'.
func (tr trial) isOurs(obj *unstructured.Unstructured) bool {
	return slices.Contains(append(tr.members("old"), tr.members("new")...), obj.GetName())
}

// knowsAll fails if a member is of a kind or in a namespace that the parent
// does not list. The Namespace that contains the set may exist before.
func (tr trial) knowsAll(t *testing.T) {
	t.Helper()
	members, live := tr.found(t)
	promise := applyset.Parent{}
	if live != nil {
		var err error
		promise, err = applyset.ReadParent(live)
		require.NoError(t, err)
	}
	for _, obj := range members {
		if live == nil && obj.GetKind() == "Namespace" {
			continue
		}
		require.NotNil(t, live, "%s %s is a member of a set without a parent", obj.GetKind(), obj.GetName())
		gvk := obj.GroupVersionKind()
		require.Contains(t, promise.Kinds, schema.GroupKind{Group: gvk.Group, Kind: gvk.Kind}, obj.GetName())
		if ns := obj.GetNamespace(); ns != "" && ns != tr.namespace {
			require.Contains(t, promise.Namespaces, ns, obj.GetName())
		}
	}
}

// converged fails unless exactly the members of the stream exist, and the
// parent lists no more than it has.
func (tr trial) converged(t *testing.T, act chaosAct) {
	t.Helper()
	members, parent := tr.found(t)
	var got, want []string
	for _, obj := range members {
		got = append(got, obj.GetName())
	}
	if act.after != "" {
		want = append(tr.members(act.after), tr.namespace)
		promise, err := applyset.ReadParent(parent)
		require.NoError(t, err)
		var kinds []schema.GroupKind
		var namespaces []string
		for _, obj := range members {
			kinds, namespaces = append(kinds, obj.GroupVersionKind().GroupKind()), append(namespaces, obj.GetNamespace())
		}
		require.Subset(t, kinds, promise.Kinds)
		require.Subset(t, namespaces, promise.Namespaces)
	} else {
		require.Nil(t, parent)
	}
	require.ElementsMatch(t, want, got)
}

// rolledBack reports whether the history has a successful rollback.
func (tr trial) rolledBack(t *testing.T) bool {
	t.Helper()
	entries, err := history.History{Cluster: tr.client, Parent: tr.parent()}.List(t.Context())
	require.NoError(t, err)
	return slices.ContainsFunc(entries, func(e history.Entry) bool { return e.Rollback > 0 && e.Status == history.Deployed })
}

// breakLock deletes the Lease, as a user may when its holder is dead.
func (tr trial) breakLock(t *testing.T) {
	lease, err := tr.client.Get(t.Context(), leaseKind(), tr.namespace, "ordapply.secret.set")
	if err == nil {
		err = tr.client.Delete(t.Context(), leaseKind(), lease, kube.DeleteOptions{})
	}
	if !apierrors.IsNotFound(err) {
		require.NoError(t, err)
	}
}

func leaseKind() kube.Kind {
	return kube.Kind{Resource: schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, Namespaced: true}
}
