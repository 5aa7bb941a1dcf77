package chaos

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/test/auditlog"
	"github.com/ordapply/ordapply/test/recorder"
	"github.com/ordapply/ordapply/test/testcluster"
)

// A run that is suspended at any of its requests until another run on its set
// has ended writes nothing when it continues, and reports failure: every object
// is as the other run applied it. The other run waited until the Lease expired,
// or the Lease was deleted by hand, or had another holder for a while.
func TestChaosSuspended(t *testing.T) {
	t.Parallel()
	lab := newSteadyLab(t)
	lab.summarize(t, "runs suspended while another ran")
	witness := &writeMonitor{lab: lab}
	t.Run("trials", func(t *testing.T) {
		for _, act := range suspendable() {
			for _, size := range []int{12, 60} {
				requests := lab.requestsOf(t, act, size)
				writes := len(slices.DeleteFunc(slices.Clone(requests), func(r recorder.Request) bool { return !isWrite(&r) }))
				for _, k := range requestsToTry(requests, size) {
					t.Run(fmt.Sprintf("%s, %d objects, request %d", act.name, size, k), func(t *testing.T) {
						t.Parallel()
						lab.counted(t)
						lab.suspend(t, act, size, k, writes, witness)
					})
				}
			}
		}
	})
	witness.check(t)
}

// suspendable returns the acts to suspend; in `make test` one of them.
func suspendable() []chaosAct {
	acts := slices.DeleteFunc(chaosActs(), func(act chaosAct) bool { return act.kubectls })
	if !allChaos() {
		acts = slices.DeleteFunc(acts, func(act chaosAct) bool { return act.name != "prune" })
	}
	return acts
}

// requestsToTry returns all requests of a small set and some of a large one,
// starting with the one that takes the lock; in `make test` four and one.
func requestsToTry(requests []recorder.Request, size int) []int {
	locked := slices.IndexFunc(requests, func(r recorder.Request) bool {
		return r.Resource == "leases" && r.Verb != "get" && r.Code < 400 // a first one may come before the Namespace is there
	})
	n := len(requests) - locked
	switch {
	case size > 12 && allChaos():
		n = 15
	case size > 12:
		n = 1
	case !allChaos():
		n = 4
	}
	rng := rand.New(rand.NewPCG(uint64(size), 3))
	ks := rng.Perm(len(requests) - locked)
	for i := range ks {
		ks[i] += locked + 1
	}
	ks = ks[:min(n, len(ks))]
	slices.Sort(ks)
	return ks
}

// requestsOf runs an act to its end and returns its requests.
func (lab chaosLab) requestsOf(t *testing.T, act chaosAct, size int) []recorder.Request {
	t.Helper()
	trial := lab.newTrial(t, act, size, "measure")
	proxy := recorder.Start(t, lab.cluster.Kubeconfig)
	output, err := trial.command(proxy.Kubeconfig, act.command).CombinedOutput()
	require.NoError(t, err, string(output))
	return proxy.Requests()
}

// believedAlive is how long a suspended run's lock is considered valid.
const believedAlive = 15 * time.Second

// suspend suspends an act at its k-th request, lets another run apply its
// stream, and continues the first.
func (lab chaosLab) suspend(t *testing.T, act chaosAct, size, k, writes int, seen *writeMonitor) {
	trial := lab.newTrial(t, act, size, fmt.Sprintf("stop-%d", k))
	proxy := recorder.Start(t, lab.cluster.Kubeconfig)
	first := trial.command(proxy.Kubeconfig, act.command)
	var output bytes.Buffer
	first.Stdout, first.Stderr = &output, &output
	stopped, ended := stopWith(t, first, proxy, k)
	select {
	case <-stopped:
	case <-ended: // it made fewer requests than the measured run
	}
	began := time.Now()
	switch k % 3 {
	case 0:
		trial.breakLock(t)
	case 1:
		trial.stealLock(t)
	}
	second := act
	second.after = "old"
	other, err := trial.command(lab.cluster.Kubeconfig, applies("second.yaml")).CombinedOutput()
	time.Sleep(time.Until(began.Add(believedAlive + time.Second)))
	goesOn := time.Now()
	_ = first.Process.Signal(syscall.SIGCONT)
	<-ended
	require.NoError(t, err, string(other))
	seen.expectNothing(trial.namespace, goesOn)
	sent := 0
	for _, r := range proxy.Requests() {
		if isWrite(&r) {
			require.False(t, r.Arrived.After(goesOn), "%s, after it went on: %s", r, output.String())
			sent++
		}
	}
	if sent < writes {
		require.NotEqual(t, report.ExitDone, first.ProcessState.ExitCode(), "it had not sent all: %s", output.String())
	}
	trial.knowsAll(t)
	trial.converged(t, second)
	trial.allSay(t, "second")
}

// stopWith starts a command that is suspended at its k-th request.
func stopWith(t *testing.T, cmd *exec.Cmd, proxy *recorder.Proxy, k int) (stopped, ended chan struct{}) {
	var arrived atomic.Int32
	return stopAt(t, cmd, proxy, func(*recorder.Request) bool { return arrived.Add(1) == int32(k) })
}

// stopAt starts a command that is suspended with the first request that fits, which
// still goes through.
func stopAt(t *testing.T, cmd *exec.Cmd, proxy *recorder.Proxy, fits func(*recorder.Request) bool) (stopped, ended chan struct{}) {
	stopped, ended = make(chan struct{}), make(chan struct{})
	started := make(chan struct{})
	var once sync.Once
	proxy.Inject(func(r *recorder.Request) recorder.Fault {
		if fits(r) {
			once.Do(func() {
				<-started
				_ = cmd.Process.Signal(syscall.SIGSTOP)
				close(stopped)
			})
		}
		return nil
	})
	require.NoError(t, cmd.Start())
	close(started)
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() { // however the test ends
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Kill()
	})
	return stopped, ended
}

// stealLock sets another holder on the set's Lease. Requests that the suspended
// run has sent may still arrive meanwhile.
func (tr trial) stealLock(t *testing.T) {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		lease, err := tr.client.Get(t.Context(), leaseKind(), tr.namespace, "ordapply.secret.set")
		if err != nil {
			return nil // the run has not created it yet
		}
		spec := map[string]any{"holderIdentity": "thief", "renewTime": time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")}
		maps.Copy(lease.Object["spec"].(map[string]any), spec)
		_, err = tr.client.Update(t.Context(), leaseKind(), lease)
		return err
	})
	require.NoError(t, err)
}

// allSay fails unless every member is of a stream.
func (tr trial) allSay(t *testing.T, stream string) {
	t.Helper()
	members, _ := tr.found(t)
	for _, obj := range members {
		if obj.GetKind() != "Namespace" {
			require.Equal(t, stream, obj.GetAnnotations()["chaos"], "%s %s", obj.GetKind(), obj.GetName())
		}
	}
}

// writeMonitor checks the audit log for writes after a run continued.
type writeMonitor struct {
	lab    chaosLab
	mu     sync.Mutex
	goesOn map[string]time.Time // by namespace
}

// expectNothing records that nothing may be written in a namespace from a time
// on.
func (w *writeMonitor) expectNothing(namespace string, from time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.goesOn == nil {
		w.goesOn = map[string]time.Time{}
	}
	w.goesOn[namespace] = from
}

func (w *writeMonitor) check(t *testing.T) {
	log, err := auditlog.Read(w.lab.cluster.AuditLog())
	require.NoError(t, err)
	for _, write := range log.Sent {
		from, known := w.goesOn[strings.TrimSuffix(write.Namespace, "-foreign")]
		late := known && write.Resource != "leases" && write.Arrived.After(from)
		assert.False(t, late, "the first run wrote after it went on: %v", write)
	}
}

// The API server is killed and restarted in every phase of a prune and of a
// deletion, and another run starts as soon as it listens: kinds that discovery
// does not list yet are neither forgotten nor considered deleted.
func TestChaosRestarts(t *testing.T) {
	t.Parallel()
	sizes := []int{12}
	var lab chaosLab
	if allChaos() {
		sizes = []int{12, 60}
	} else {
		lab = newRestartLab(t, "API server restarted")
	}
	for _, act := range chaosActs() {
		if act.name != "prune" && act.name != "delete" {
			continue
		}
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s, %d objects", act.name, size), func(t *testing.T) {
				own := lab
				if allChaos() { // a restart takes seconds, and nothing else may need the API server then
					t.Parallel()
					own = newRestartLab(t, fmt.Sprintf("API server restarted in %s, %d objects", act.name, size))
				}
				own.restartInEachPhase(t, act, size)
			})
		}
	}
}

func newRestartLab(t *testing.T, what string) chaosLab {
	t.Helper()
	dir := testcluster.StartDetached(t)
	lab := newChaosLab(t, chaosCommand(t), &testcluster.Cluster{Dir: dir, Kubeconfig: filepath.Join(dir, "kubeconfig")}).withWidgets(t)
	lab.summarize(t, what)
	return lab
}

func (lab chaosLab) restartInEachPhase(t *testing.T, act chaosAct, size int) {
	for n, phase := range phasesToTry(lab.requestsOf(t, act, size)) {
		t.Run(phase, func(t *testing.T) {
			lab.counted(t)
			lab.restart(t, lab.newTrial(t, act, size, fmt.Sprintf("restart-%d", n)), act, phase)
		})
	}
}

// phasesToTry returns the sorts of requests of a run; in `make test` one of them.
func phasesToTry(requests []recorder.Request) []string {
	if !allChaos() {
		return []string{"delete widgets"}
	}
	var phases []string
	for _, r := range requests {
		if phase := phaseOf(&r); r.Verb != "watch" && !slices.Contains(phases, phase) {
			phases = append(phases, phase)
		}
	}
	return phases
}

func phaseOf(r *recorder.Request) string { return r.Verb + " " + r.Resource }

// restart restarts the API server at the first request of a phase of an act, and starts
// the act again as soon as it listens. A run may come to its end without that request: its
// lists depend on discovery.
func (lab chaosLab) restart(t *testing.T, trial trial, act chaosAct, phase string) {
	proxy := recorder.Start(t, lab.cluster.Kubeconfig)
	first, again := trial.command(proxy.Kubeconfig, act.command), trial.command(lab.cluster.Kubeconfig, act.command)
	var once sync.Once
	restarted, ended := make(chan struct{}), make(chan struct{})
	proxy.Inject(func(r *recorder.Request) recorder.Fault {
		if phaseOf(r) == phase {
			once.Do(func() {
				testcluster.RestartAPIServer(t, lab.cluster.Dir, 100*time.Millisecond)
				close(restarted)
			})
		}
		return nil
	})
	require.NoError(t, first.Start())
	var running sync.WaitGroup
	running.Go(func() {
		_ = first.Wait()
		close(ended)
	})
	select {
	case <-restarted:
		lab.awaitListening(t)
	case <-ended:
	}
	running.Go(func() { _ = again.Run() })
	running.Wait()
	lab.recovered(t, trial, act)
}

// awaitListening returns when the API server's port accepts connections.
func (lab chaosLab) awaitListening(t *testing.T) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", lab.cluster.Kubeconfig)
	require.NoError(t, err)
	server, err := url.Parse(config.Host)
	require.NoError(t, err)
	time.Sleep(200 * time.Millisecond) // the old process has exited
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", server.Host)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, 3*time.Minute, 5*time.Millisecond)
}

// recovered checks the remains of an act after faults, and runs it once more.
func (lab chaosLab) recovered(t *testing.T, trial trial, act chaosAct) {
	t.Helper()
	require.Eventually(t, func() bool {
		kind, _ := lab.client.Kind(chaosWidget)
		_, err := lab.client.List(t.Context(), kind, trial.namespace, kube.Query{Limit: 1})
		return err == nil
	}, 3*time.Minute, 100*time.Millisecond)
	trial.knowsAll(t)
	if act.over != nil && act.over(trial, t) {
		trial.converged(t, act)
		return
	}
	trial.breakLock(t)
	output, err := trial.command(lab.cluster.Kubeconfig, act.command).CombinedOutput()
	if act.after != "" || err == nil {
		require.NoError(t, err, string(output))
	} else {
		require.Contains(t, string(output), "not found: nothing to delete")
		require.Eventually(t, func() bool { return !trial.exists(t) }, 3*time.Minute, 200*time.Millisecond)
	}
	trial.knowsAll(t)
	trial.converged(t, act)
}

// exists reports whether the trial's Namespace exists.
func (tr trial) exists(t *testing.T) bool {
	return slices.ContainsFunc(tr.objects(t), func(obj *unstructured.Unstructured) bool {
		return obj.GetKind() == "Namespace" && obj.GetName() == tr.namespace
	})
}

// etcd does not respond for longer than a Lease's duration while runs of all
// kinds are in progress: no run leaves objects that its set does not know.
func TestChaosStorageStops(t *testing.T) {
	t.Parallel()
	rounds := 1
	if allChaos() {
		rounds = 6
	}
	lab := newChaosLab(t, chaosCommand(t), testcluster.Start(t)).withWidgets(t)
	lab.summarize(t, "etcd paused")
	for round := range rounds {
		t.Run(fmt.Sprintf("round %d", round), func(t *testing.T) { lab.pauseStorage(t, round) })
	}
}

// pausedCommand is a command during which etcd is paused.
type pausedCommand struct {
	trial trial
	act   chaosAct
	cmd   *exec.Cmd
}

// pauseStorage starts all acts, and suspends etcd when the last of them has
// sent some of its requests.
func (lab chaosLab) pauseStorage(t *testing.T, round int) {
	rng := rand.New(rand.NewPCG(uint64(round), 2))
	var all []pausedCommand
	var some sync.WaitGroup
	for _, act := range chaosActs() {
		for _, size := range []int{12, 60} {
			if size > 12 && !allChaos() {
				continue
			}
			trial := lab.newTrial(t, act, size, fmt.Sprintf("etcd-%d", round))
			proxy := recorder.Start(t, lab.cluster.Kubeconfig)
			var arrived atomic.Int32
			at := 1 + rng.Int32N(30)
			some.Add(1)
			proxy.Inject(func(*recorder.Request) recorder.Fault {
				if arrived.Add(1) == at {
					some.Done()
					some.Wait() // so that all of them are in progress
				}
				return nil
			})
			all = append(all, pausedCommand{trial, act, trial.command(proxy.Kubeconfig, act.command)})
		}
	}
	var running sync.WaitGroup
	for _, u := range all {
		require.NoError(t, u.cmd.Start())
		running.Go(func() { _ = u.cmd.Wait() })
	}
	some.Wait()
	time.Sleep(time.Duration(rng.IntN(100)) * time.Millisecond)
	lab.stopStorage(t, 20*time.Second)
	running.Wait()
	for _, u := range all {
		t.Run(fmt.Sprintf("%s, %d objects", u.act.name, u.trial.size), func(t *testing.T) {
			t.Parallel()
			lab.counted(t)
			lab.recovered(t, u.trial, u.act)
		})
	}
}

// stopStorage suspends the cluster's etcd for a while.
func (lab chaosLab) stopStorage(t *testing.T, pause time.Duration) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(lab.cluster.Dir, "run", "etcd.pid"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(string(text))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	defer func() { require.NoError(t, syscall.Kill(pid, syscall.SIGCONT)) }()
	time.Sleep(pause)
}
