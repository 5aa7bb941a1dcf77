package main

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
	"github.com/ordapply/ordapply/test/testcluster"
)

// Permanent errors are not retried: a webhook's denial, an invalid object, a
// conflict, a missing Namespace, a missing permission. All
// responses are the API server's own.
func TestErrorsThatAreNotRetried(t *testing.T) {
	cluster := shared.Get(t)
	up := &atomic.Bool{}
	up.Store(true)
	guard(t, cluster, "deny", up, false)
	theirs := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: default}\ndata: {a: theirs}\n"
	code, output := applyThrough(cluster.Kubeconfig, []byte(theirs), "--field-manager", "another-tool")
	require.Equal(t, report.ExitDone, code, output)
	for name, c := range map[string]struct {
		manifest, says string
		sent           int // PATCHes that are no dry runs
	}{
		"denied":       {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: denied, namespace: default, labels: {guarded: deny}}\n", `admission webhook "deny.guard.example" denied the request: not this one`, 1},
		"invalid":      {"apiVersion: v1\nkind: Service\nmetadata: {name: wrong, namespace: default}\nspec: {ports: [{port: 99999}]}\n", "spec.ports[0].port: Invalid value: 99999", 1},
		"conflict":     {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: default}\ndata: {a: ours}\n", "take these fields with --force-conflicts", 0},
		"no namespace": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: lost, namespace: nowhere}\n", `namespace "nowhere" does not exist, neither in the cluster nor in this stream`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := recorder.Start(t, cluster.Kubeconfig)
			code, output := applyThrough(proxy.Kubeconfig, []byte(c.manifest), "--kind-timeout", "0")
			require.Equal(t, report.ExitFailed, code, output)
			require.Contains(t, output, c.says)
			require.Equal(t, c.sent, patches(proxy.Requests()), "sent once, or found by a dry run")
		})
	}
	t.Run("forbidden", func(t *testing.T) {
		proxy := recorder.Start(t, cluster.Kubeconfig)
		code, output := applyThrough(proxy.Kubeconfig, []byte(theirs), "--as", "guest")
		require.Equal(t, report.ExitFailed, code, output)
		require.Contains(t, output, `"guest" may not create, patch configmaps in namespace "default"`)
		require.Zero(t, patches(proxy.Requests()), "that is known before anything is sent")
	})
}

func patches(requests []recorder.Request) int {
	n := 0
	for _, r := range requests {
		if r.Verb == "patch" && !r.URL.Query().Has("dryRun") {
			n++
		}
	}
	return n
}

// Requests to a webhook that is down are retried until it is up. If it stays
// down, the message is the API server's, with advice.
func TestWebhookDownThenUp(t *testing.T) {
	cluster := shared.Get(t)
	var up atomic.Bool
	guard(t, cluster, "admit", &up, true)
	manifest := []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: guarded, namespace: default, labels: {guarded: admit}}\n")

	code, output := applyThrough(cluster.Kubeconfig, manifest, "--wave-timeout", "10s")
	require.Equal(t, report.ExitTimedOut, code, output)
	require.Contains(t, output, `not applied after 10s (--wave-timeout): Internal error occurred: failed calling webhook "admit.guard.example"`)
	require.Contains(t, output, "; the webhook does not answer: check that its workload is running and reachable from the API server")

	proxy := recorder.Start(t, cluster.Kubeconfig)
	var sent atomic.Int32
	proxy.Inject(func(r *recorder.Request) recorder.Fault {
		if r.Verb == "patch" && sent.Add(1) == 3 {
			up.Store(true)
		}
		return nil
	})
	code, output = applyThrough(proxy.Kubeconfig, manifest)
	require.Equal(t, report.ExitDone, code, output)
	require.Equal(t, 3, patches(proxy.Requests()))
}

// A leftover webhook configuration refers to a Service that does not exist: the
// message names it, and both remedies.
func TestWebhookLeftBehind(t *testing.T) {
	cluster := shared.Get(t)
	cluster.Kubectl(t, "apply", "--server-side", "-f", filepath.Join("testdata", "webhook_left_behind.yaml"))
	waitForWebhook(t, cluster, "left-behind")
	code, output := applyThrough(cluster.Kubeconfig, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: left-behind, namespace: default, labels: {guarded: left-behind}}\n"), "--wave-timeout", "10s")
	require.Equal(t, report.ExitTimedOut, code, output)
	require.Contains(t, output, `apply ConfigMap default/left-behind: not applied after 10s (--wave-timeout): Internal error occurred: failed calling webhook "left-behind.guard.example"`)
	require.Contains(t, output, `service "gone" not found; the Service gone of the webhook does not exist: apply it first, or delete the webhook configuration if it is a leftover`)
}

// guard registers a webhook for ConfigMaps with the label guarded: name, and
// serves it while up is true; otherwise it breaks connections.
func guard(t *testing.T, cluster *testcluster.Cluster, name string, up *atomic.Bool, allows bool) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			Request struct {
				UID string `json:"uid"`
			} `json:"request"`
		}
		_ = json.NewDecoder(r.Body).Decode(&review)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": %q, "allowed": %t, "status": {"message": "not this one"}}}`, review.Request.UID, allows)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Listener = &closing{server.Listener, up}
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	code, output := applyThrough(cluster.Kubeconfig, []byte(fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %[1]s.guard.example}
webhooks:
- name: %[1]s.guard.example
  admissionReviewVersions: [v1]
  sideEffects: None
  timeoutSeconds: 20
  clientConfig: {url: %[2]q, caBundle: %[3]s}
  objectSelector: {matchLabels: {guarded: %[1]s}}
  rules:
  - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}
`, name, server.URL, ca)))
	require.Equal(t, report.ExitDone, code, output)
	waitForWebhook(t, cluster, name)
}

// closing is a listener that closes every connection while its webhook is down.
type closing struct {
	net.Listener
	up *atomic.Bool
}

func (l *closing) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil && !l.up.Load() {
		_ = conn.Close()
	}
	return conn, err
}

// waitForWebhook waits until the API server calls a new webhook, which shows as
// an error while it is down or denies.
func waitForWebhook(t *testing.T, cluster *testcluster.Cluster, name string) {
	t.Helper()
	probe := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: probe-%[1]s, namespace: default, labels: {guarded: %[1]s}}\n", name)
	for range 600 {
		if _, output := applyThrough(cluster.Kubeconfig, []byte(probe), "--dry-run=server", "--wave-timeout", "1s"); strings.Contains(output, name+".guard.example") {
			return
		}
	}
	t.Fatal("the API server does not call the webhook")
}
