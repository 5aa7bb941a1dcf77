package chaos

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/test/auditlog"
	"github.com/ordapply/ordapply/test/recorder"
)

// A run that is suspended during a wave sends nothing when it continues after
// another run has finished: it reports this and fails, and every object is as
// the other run applied it. A request that had passed its last check when the
// run was suspended is reported. The API server's audit log proves it.
func TestASuspendedRunSendsNothingMore(t *testing.T) {
	lab := newChaosLab(t, chaosCommand(t), shared.Get(t))
	trials := make([]*suspension, 20)
	var trying sync.WaitGroup
	for seed := range trials {
		trials[seed] = newSuspension(t, lab, fmt.Sprintf("suspended-%d", seed), uint64(seed))
		trying.Go(trials[seed].try)
	}
	trying.Wait()
	log, err := auditlog.Read(lab.cluster.AuditLog())
	require.NoError(t, err)
	for seed, s := range trials {
		t.Run(fmt.Sprintf("seed %d, write %d", seed, s.at), func(t *testing.T) { s.check(t, log) })
	}
}

// suspended is the number of objects in the streams of these tests.
const suspended = 60

// suspension is a run that is suspended at some request, and another that is
// not.
type suspension struct {
	lab       chaosLab
	namespace string
	at        int32 // the write at which the first run is suspended
	pause     time.Duration
	proxy     *recorder.Proxy
	first     *exec.Cmd
	printed   bytes.Buffer // of the first
	second    *exec.Cmd
	secondly  []byte // output of the second
	failed    error
	goesOn    time.Time
	ended     error       // of the first
	ends      atomic.Bool // nothing may be written from now on
}

func newSuspension(t *testing.T, lab chaosLab, namespace string, seed uint64) *suspension {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := &suspension{
		lab: lab, namespace: namespace, proxy: recorder.Start(t, lab.cluster.Kubeconfig),
		at: 3 + rng.Int32N(suspended-10), pause: time.Duration(rng.IntN(3000)) * time.Microsecond,
	}
	lab.create(t, "Namespace", "", namespace, nil)
	s.first = lab.applySet(t, s.proxy.Kubeconfig, namespace, "first")
	s.second = lab.applySet(t, lab.cluster.Kubeconfig, namespace, "second")
	s.first.Stderr = &s.printed
	return s
}

// applySet returns a command that applies ConfigMaps with a value, in waves of
// five.
func (lab chaosLab) applySet(t *testing.T, kubeconfig, namespace, value string, flags ...string) *exec.Cmd {
	var stream strings.Builder
	for i := range suspended {
		fmt.Fprintf(&stream, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, annotations: {ordapply.dev/layer: app/l%d, ordapply.dev/wave: %q}}\ndata: {value: %s}\n---\n", i, i/5, fmt.Sprint(i/5), value)
	}
	file := filepath.Join(t.TempDir(), value+".yaml")
	require.NoError(t, os.WriteFile(file, []byte(stream.String()), 0o600))
	return exec.Command(lab.bin, append([]string{"apply", "-f", file, "--applyset", "set", "-n", namespace, "--prune", "--lock-timeout", "3m", "--kubeconfig", kubeconfig}, flags...)...)
}

// try suspends the first run, lets the second finish, and continues the first.
func (s *suspension) try() {
	stopped, started := make(chan struct{}), make(chan struct{})
	var arrived atomic.Int32
	s.proxy.Inject(func(r *recorder.Request) recorder.Fault {
		if r.Verb == "patch" && r.Resource == "configmaps" && arrived.Add(1) == s.at {
			<-started
			time.Sleep(s.pause)
			_ = s.first.Process.Signal(syscall.SIGSTOP)
			close(stopped)
		}
		return nil
	})
	if s.failed = s.first.Start(); s.failed != nil {
		return
	}
	close(started)
	select {
	case <-stopped:
		s.secondly, s.failed = s.second.CombinedOutput()
	case <-time.After(2 * time.Minute):
		s.failed = fmt.Errorf("only %d writes arrived", arrived.Load())
	}
	s.goesOn = time.Now()
	_ = s.first.Process.Signal(syscall.SIGCONT)
	s.ended = s.first.Wait()
}

func (s *suspension) check(t *testing.T, log *auditlog.Log) {
	require.NoError(t, s.failed, string(s.secondly))
	require.Error(t, s.ended, "the first run ended with success: %s", s.printed.String())
	require.Equal(t, report.ExitFailed, s.first.ProcessState.ExitCode(), s.printed.String())
	require.Contains(t, s.printed.String(), "error: this run lost its lock (Lease "+s.namespace+"/ordapply.secret.set): another run took it and has ended since")
	require.NotContains(t, s.printed.String(), "interrupted")
	unfinished, late := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(s.printed.String()) {
		name, reason, found := strings.Cut(line, " not finished: ")
		if !found {
			continue
		}
		_, name, _ = strings.Cut(strings.TrimSpace(name), s.namespace+"/")
		unfinished[name] = true
		if !strings.HasPrefix(reason, "it was sent, and answered after the lock was lost") { // its connection failed during the suspension
			require.Regexp(t, "^the API server could not be reached", reason, "what was not sent is not printed to be")
			require.NotRegexp(t, "handshake|dial ", line, "what got no connection was not sent")
		}
	}
	for _, write := range log.Sent {
		if write.Namespace == s.namespace && write.Resource != "leases" && write.Arrived.After(s.goesOn) {
			require.True(t, unfinished[write.Name], "sent after it went on, and not reported: %v\n%s", write, s.printed.String())
			late[write.Name] = true
		}
	}
	// A suspension that hits the instant between the last check and the system
	// call cannot be noticed before the request is sent.
	require.LessOrEqual(t, len(late), 1, "sent after it went on: %v", late)
	s.lab.holds(t, s.namespace, "second", late)
}

// holds fails unless every ConfigMap has a value, apart from some.
func (lab chaosLab) holds(t *testing.T, namespace, value string, others map[string]bool) {
	t.Helper()
	kind, _ := lab.client.Kind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	objects, err := lab.client.List(t.Context(), kind, namespace, kube.Query{})
	require.NoError(t, err)
	found := 0
	for _, obj := range objects {
		if got, ours, _ := unstructured.NestedString(obj.Object, "data", "value"); ours {
			if !others[obj.GetName()] {
				require.Equal(t, value, got, obj.GetName())
			}
			found++
		}
	}
	require.Equal(t, suspended, found)
}

// A run whose Lease is deleted, taken by another holder or cannot be renewed
// during its work sends nothing more, reports it, and fails.
func TestALockThatIsLostInAWave(t *testing.T) {
	lab := newChaosLab(t, chaosCommand(t), shared.Get(t))
	lease := kube.Kind{Resource: schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, Namespaced: true}
	change := func(do func(live *unstructured.Unstructured) error) func(string) error {
		return func(namespace string) error {
			live, err := lab.client.Get(context.Background(), lease, namespace, "ordapply.secret.set")
			if err != nil {
				return err
			}
			return do(live)
		}
	}
	for name, c := range map[string]struct {
		lose func(namespace string) error // nil if it cannot be renewed
		says string
	}{
		"deleted": {change(func(live *unstructured.Unstructured) error {
			return lab.client.Delete(context.Background(), lease, live, kube.DeleteOptions{})
		}), "its Lease was deleted, by hand or by another run"},
		"stolen": {change(func(live *unstructured.Unstructured) error {
			if err := unstructured.SetNestedField(live.Object, "thief", "spec", "holderIdentity"); err != nil {
				return err
			}
			_, err := lab.client.Update(context.Background(), lease, live)
			return err
		}), "thief took it "},
		"expired": {nil, "it could not be renewed for "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSuspension(t, lab, "lost-"+name, 1)
			reached, lost := make(chan struct{}), make(chan struct{})
			var arrived atomic.Int32
			var sentLate atomic.Bool
			var cutOff atomic.Bool
			s.proxy.Inject(func(r *recorder.Request) recorder.Fault {
				switch {
				case r.Resource == "leases" && cutOff.Load():
					return recorder.Status(503, metav1.StatusReasonServiceUnavailable, "no renewals")
				case r.Verb != "patch" || r.Resource != "configmaps":
				case arrived.Add(1) == s.at:
					close(reached)
					<-lost // the wave continues when the lock is lost
				case s.ends.Load():
					sentLate.Store(true)
				}
				return nil
			})
			require.NoError(t, s.first.Start())
			<-reached
			cutOff.Store(c.lose == nil)
			if c.lose != nil {
				require.NoError(t, c.lose(s.namespace))
				time.Sleep(4 * time.Second) // until the next renewal notices
			} else {
				time.Sleep(11 * time.Second) // until its last renewal is too old
			}
			s.ends.Store(true)
			close(lost)
			s.ended = s.first.Wait()
			require.Equal(t, report.ExitFailed, s.first.ProcessState.ExitCode(), s.printed.String())
			require.Contains(t, s.printed.String(), "error: this run lost its lock (Lease "+s.namespace+"/ordapply.secret.set): "+c.says)
			require.False(t, sentLate.Load(), s.printed.String())
		})
	}
}
