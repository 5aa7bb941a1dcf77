package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
)

// A run that is killed at any of its requests while it recreates an object, runs hooks or
// undoes a failed run loses nothing: the same command, run again, ends as if it had not
// been killed, and another user's object survives. Some requests of each act are tried;
// `make chaos` tries every request.
func TestChaosUndo(t *testing.T) {
	t.Parallel()
	lab := newSteadyLab(t)
	lab.summarize(t, "runs killed in recreation, hooks and undo")
	for _, act := range undoActs() {
		t.Run(act.name, func(t *testing.T) { lab.killEverywhere(t, act) })
	}
}

// undoAct is a command on a set that recreates, runs hooks or undoes.
type undoAct struct {
	name    string
	before  [][]string // the commands before it; they may fail
	command []string
	fails   bool // the command ends with a failure, whether it is killed before or not
	// after is the command's aftermath.
	after aftermath
}

// aftermath is the expected state after a completed act.
type aftermath struct {
	value   string // of ConfigMap app and Job work; "": they do not exist
	adopted bool   // the object of another user is a member
	ran     string // the hooks of this value whose Jobs exist, comma-separated
	never   string // the hooks that never ran with the value "new", comma-separated
}

func undoActs() []undoAct {
	undo := append(applies("failing.yaml"), "--rollback-on-failure")
	return []undoAct{
		{
			name: "recreation", before: [][]string{applies("old.yaml")}, command: applies("new.yaml"),
			after: aftermath{value: "new", adopted: true, ran: "pre-upgrade,post-upgrade", never: "pre-install,post-install,pre-delete,post-delete"},
		},
		{
			name: "delete hooks", before: [][]string{applies("old.yaml")}, command: []string{"delete", "--applyset", "set", "-n", "NAMESPACE"},
			after: aftermath{never: "pre-install,post-install,pre-upgrade,post-upgrade,pre-delete,post-delete"},
		},
		{
			name: "rollback on failure", before: [][]string{applies("old.yaml")}, command: undo, fails: true,
			after: aftermath{value: "old", ran: "pre-upgrade", never: "pre-install,post-install,post-upgrade,pre-delete,post-delete"},
		},
		{
			name: "rollback on failure of a first run", command: undo, fails: true,
			after: aftermath{never: "post-install,post-upgrade,pre-delete,post-delete"},
		},
		{
			name: "rollback", before: [][]string{applies("old.yaml"), applies("failing.yaml")}, command: []string{"rollback", "set", "-n", "NAMESPACE"},
			after: aftermath{value: "old", never: "pre-install,post-install,post-upgrade,pre-delete,post-delete"},
		},
	}
}

// undoStream is a ConfigMap and a Job of a value, with hooks of all events. The failing one
// has an object that the API server rejects, after the others.
func undoStream(value string, adopts, fails bool) string {
	const job = `---
apiVersion: batch/v1
kind: Job
metadata: {name: %s, annotations: {%s}}
spec: {template: {metadata: {annotations: {value: %s}}, spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}
`
	text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {value: %s}\n", value)
	text += fmt.Sprintf(job, "work", `ordapply.dev/on-immutable: recreate`, value)
	if adopts {
		text += "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs}\ndata: {ours: added}\n"
	}
	if fails {
		text += "---\napiVersion: v1\nkind: Service\nmetadata: {name: wrong, annotations: {config.kubernetes.io/depends-on: \"" +
			"/namespaces/NAMESPACE/ConfigMap/app,/namespaces/NAMESPACE/ConfigMap/theirs,batch/namespaces/NAMESPACE/Job/work" +
			"\"}}\nspec: {ports: [{port: 70000}]}\n"
	}
	for _, event := range hookEvents() {
		text += fmt.Sprintf(job, event, `helm.sh/hook: `+event, value)
	}
	return text
}

func hookEvents() []string {
	return []string{"pre-install", "post-install", "pre-upgrade", "post-upgrade", "pre-delete", "post-delete"}
}

// newUndoTrial is an apply set in a namespace of its own, with an object of another user.
func newUndoTrial(t *testing.T, lab chaosLab, act undoAct, name string) trial {
	tr := trial{chaosLab: lab, dir: t.TempDir(), namespace: "undo-" + strings.ReplaceAll(act.name, " ", "-") + "-" + name}
	lab.create(t, "Namespace", "", tr.namespace, nil)
	for name, text := range map[string]string{
		"old": undoStream("old", false, false), "new": undoStream("new", true, false), "failing": undoStream("new", true, true),
	} {
		text = strings.ReplaceAll(text, "NAMESPACE", tr.namespace)
		require.NoError(t, os.WriteFile(filepath.Join(tr.dir, name+".yaml"), []byte(text), 0o600))
	}
	lab.create(t, "ConfigMap", tr.namespace, "theirs", nil)
	for _, args := range act.before {
		_, _ = tr.command(lab.cluster.Kubeconfig, args).CombinedOutput()
	}
	return tr
}

// killEverywhere kills an act at its requests.
func (lab chaosLab) killEverywhere(t *testing.T, act undoAct) {
	whole := newUndoTrial(t, lab, act, "whole")
	proxy := recorder.Start(t, lab.cluster.Kubeconfig)
	output, err := whole.command(proxy.Kubeconfig, act.command).CombinedOutput()
	require.Equal(t, act.fails, err != nil, string(output))
	whole.hasAftermath(t, act.after)
	requests := proxy.Requests()
	t.Logf("%s makes %d requests", act.name, len(requests))
	for _, k := range killsToTry(requests) {
		t.Run(fmt.Sprintf("request %d, %s", k, requests[k-1]), func(t *testing.T) {
			t.Parallel()
			lab.counted(t)
			lab.killOnce(t, act, k)
		})
	}
}

// killsToTry returns all requests; in `make test` some of the writes.
func killsToTry(requests []recorder.Request) []int {
	var ks []int
	for i := range requests {
		if allChaos() || isWrite(&requests[i]) && requests[i].Resource != "leases" {
			ks = append(ks, i+1)
		}
	}
	if !allChaos() {
		rng := rand.New(rand.NewPCG(uint64(len(requests)), 4))
		rng.Shuffle(len(ks), func(i, j int) { ks[i], ks[j] = ks[j], ks[i] })
		ks = ks[:min(6, len(ks))]
		slices.Sort(ks)
	}
	return ks
}

// killOnce kills an act at its k-th request, and runs it again.
func (lab chaosLab) killOnce(t *testing.T, act undoAct, k int) {
	tr := newUndoTrial(t, lab, act, fmt.Sprint(k))
	proxy := recorder.Start(t, lab.cluster.Kubeconfig)
	var arrived atomic.Int32
	first := tr.command(proxy.Kubeconfig, act.command)
	_ = proxy.RunSignalled(first, os.Kill, func(*recorder.Request) bool { return arrived.Add(1) == int32(k) })
	tr.keepsTheirs(t)
	if first.ProcessState.Exited() && act.command[0] == "rollback" {
		tr.hasAftermath(t, act.after) // another rollback would go somewhere else
		return
	}
	tr.breakLock(t)
	if act.command[0] == "rollback" && tr.rolledBack(t) {
		tr.hasAftermath(t, act.after)
		return
	}
	again := tr.command(lab.cluster.Kubeconfig, act.command)
	output, err := again.CombinedOutput()
	if act.command[0] == "delete" && err != nil {
		require.Contains(t, string(output), "not found: nothing to delete")
	} else {
		require.Equal(t, act.fails, err != nil, string(output))
	}
	if act.fails {
		require.Equal(t, report.ExitFailed, again.ProcessState.ExitCode(), string(output))
	}
	tr.hasAftermath(t, act.after)
}

// hasAftermath fails unless an act has left this state.
func (tr trial) hasAftermath(t *testing.T, want aftermath) {
	t.Helper()
	app, job := tr.get(t, "v1", "ConfigMap", "app"), tr.get(t, "batch/v1", "Job", "work")
	require.Equal(t, want.value != "", app != nil, "ConfigMap app")
	require.Equal(t, want.value != "", job != nil, "Job work")
	if app != nil {
		value, _, _ := unstructured.NestedString(app.Object, "data", "value")
		require.Equal(t, want.value, value, "ConfigMap app")
		require.Equal(t, want.value, templateValue(job), "Job work")
	}
	theirs := tr.keepsTheirs(t)
	require.Equal(t, want.adopted, applyset.Owner(theirs) != "", "the object of another user is a member")
	for _, event := range hookEvents() {
		hook := tr.get(t, "batch/v1", "Job", event)
		if slices.Contains(strings.Split(want.ran, ","), event) {
			require.NotNil(t, hook, event)
			require.Equal(t, "new", templateValue(hook), event)
		}
		if slices.Contains(strings.Split(want.never, ","), event) && hook != nil {
			require.Equal(t, "old", templateValue(hook), "hook %s ran", event)
		}
	}
}

// keepsTheirs fails unless the object of another user is unchanged.
func (tr trial) keepsTheirs(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	theirs := tr.get(t, "v1", "ConfigMap", "theirs")
	require.NotNil(t, theirs, "the object of another user was deleted")
	require.Nil(t, theirs.GetDeletionTimestamp())
	return theirs
}

func templateValue(job *unstructured.Unstructured) string {
	value, _, _ := unstructured.NestedString(job.Object, "spec", "template", "metadata", "annotations", "value")
	return value
}

// get returns an object of the trial; nil if it does not exist.
func (tr trial) get(t *testing.T, version, kind, name string) *unstructured.Unstructured {
	t.Helper()
	gv, err := schema.ParseGroupVersion(version)
	require.NoError(t, err)
	served, _ := tr.client.Kind(gv.WithKind(kind))
	live, err := tr.client.Get(t.Context(), served, tr.namespace, name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(t, err)
	return live
}
