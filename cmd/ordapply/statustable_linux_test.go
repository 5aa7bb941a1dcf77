package main

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/testcluster"
)

const screenStream = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: set-screen, annotations: {ordapply.dev/layer: app/base, ordapply.dev/wave: "0"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: set-screen, annotations: {ordapply.dev/layer: app/web, ordapply.dev/wave: "1"}}
spec: {selector: {matchLabels: {a: web}}, template: {metadata: {labels: {a: web}}, spec: {containers: [{name: c, image: c}]}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: last, namespace: set-screen, annotations: {ordapply.dev/layer: app/last, ordapply.dev/wave: "2"}}
`

// On a terminal the table of a set is redrawn in place when it becomes longer,
// shorter or narrower, and below a shell's output after a stop. After an
// interrupt the screen is clean.
func TestStatusOnATerminal(t *testing.T) {
	bin, err := testcluster.Find("ordapply")
	if err != nil {
		testcluster.Skip(t, "the ordapply command (run `make build`)")
	}
	cluster := shared.Get(t)
	cluster.Kubectl(t, "create", "namespace", "set-screen")
	code, printed := applyThrough(cluster.Kubeconfig, []byte(screenStream), "--applyset", "shop", "-n", "set-screen")
	require.Equal(t, report.ExitDone, code, printed)
	p := underShell(t, bin, "status", "shop", "-n", "set-screen", "--watch", "--kubeconfig", cluster.Kubeconfig)
	const healthy = `apply set Secret set-screen/shop, revision 1, deployed, created DATE
LAYER     READY  HEALTH   WORST
app/base  1/1    Healthy
app/web   1/1    Healthy
app/last  1/1    Healthy
all       3/3    Healthy`
	p.awaitScreen(t, healthy)

	label := strings.TrimSpace(cluster.Kubectl(t, "get", "serviceaccount", "last", "-n", "set-screen", "-o", `jsonpath={.metadata.labels.applyset\.kubernetes\.io/part-of}`))
	kubectlApply(t, cluster, "{apiVersion: v1, kind: ConfigMap, metadata: {name: copied, namespace: set-screen, labels: {applyset.kubernetes.io/part-of: "+label+"}}}")
	cluster.Kubectl(t, "delete", "serviceaccount", "last", "-n", "set-screen")
	p.awaitScreen(t, `apply set Secret set-screen/shop, revision 1, deployed, created DATE
LAYER     READY  HEALTH    WORST
app/base  1/1    Healthy
app/web   1/1    Healthy
app/last  0/1    Degraded  ServiceAccount set-screen/last: missing: it does no…
all       2/3    Degraded
note: ConfigMap set-screen/copied has the label of the apply set but is not a
  member: field manager kubectl-client-side-apply set the label, not a run of
  the set; it is left unchanged`)
	p.resize(t, 40)
	require.Eventually(t, func() bool { return strings.Contains(p.shows(), "app/last  0/1    Degraded  ServiceAcco…") }, 3*time.Minute, 50*time.Millisecond, p.shows())
	p.resize(t, 80)
	cluster.Kubectl(t, "delete", "configmap", "copied", "-n", "set-screen")
	code, printed = applyThrough(cluster.Kubeconfig, []byte(screenStream), "--applyset", "shop", "-n", "set-screen")
	require.Equal(t, report.ExitDone, code, printed)
	p.awaitScreen(t, healthy)
	p.suspend(t)
	require.Eventually(t, func() bool { return p.shows() == "" }, 3*time.Minute, 50*time.Millisecond, "its table is left")
	p.shellSays("[1]+  Stopped\r\n$ fg\r\n")
	cluster.Kubectl(t, "delete", "deployment", "web", "-n", "set-screen")
	p.signal(t, syscall.SIGCONT)
	const degraded = `[1]+  Stopped
$ fg
apply set Secret set-screen/shop, revision 1, deployed, created DATE
LAYER     READY  HEALTH    WORST
app/base  1/1    Healthy
app/web   0/1    Degraded  Deployment set-screen/web: missing: it does not exi…
app/last  1/1    Healthy
all       2/3    Degraded`
	p.awaitScreen(t, degraded)
	_, err = p.keyboard.Write([]byte{3}) // Ctrl-C
	require.NoError(t, err)
	require.Equal(t, report.ExitInterrupted, p.wait())
	p.requireClean(t)
	require.Equal(t, degraded, withoutCreationTime(p.shows()))
	for _, env := range []string{"TERM=dumb", "TERM=", "CI=true"} {
		t.Run("not drawn with "+env, func(t *testing.T) {
			p := prepared(t, bin, "status", "shop", "-n", "set-screen", "--watch", "--kubeconfig", cluster.Kubeconfig)
			p.Env = append(p.Env, env)
			p.start(t)
			go p.look()
			p.await(t, "Degraded")
			p.signal(t, syscall.SIGINT)
			require.Equal(t, report.ExitInterrupted, p.wait())
			require.NotContains(t, p.raw.String(), "\x1b")
		})
	}
}

// suspend stops the program as Ctrl-Z does.
func (p *seated) suspend(t *testing.T) {
	t.Helper()
	_, err := p.keyboard.Write([]byte{26})
	require.NoError(t, err)
	require.Eventually(t, p.stopped, 3*time.Minute, 50*time.Millisecond, "it was never stopped")
}

// awaitScreen waits until the screen shows exactly this text.
func (p *seated) awaitScreen(t *testing.T, want string) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); withoutCreationTime(p.shows()) != want; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			require.Equal(t, want, withoutCreationTime(p.shows()))
		}
	}
}

// withoutCreationTime removes the creation time of a revision from a screen.
func withoutCreationTime(screen string) string {
	return regexp.MustCompile(`created\s+[^ \n]+Z`).ReplaceAllString(screen, "created DATE")
}

// resize sets the terminal's width and notifies the program.
func (p *seated) resize(t *testing.T, columns int) {
	t.Helper()
	require.NoError(t, unix.IoctlSetWinsize(int(p.keyboard.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)}))
	p.signal(t, syscall.SIGWINCH)
}
