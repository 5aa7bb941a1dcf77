package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
)

// fault is a fault of the API server. The run must succeed or report a correct
// error, and a second run finishes the work.
type fault struct {
	name   string
	http2  bool
	inject func(*recorder.Proxy)
	code   int
	says   string
	tried  bool // the message states how often and how long
}

func faults() []fault {
	patch := recorder.Verb("patch", "")
	watch := func(r *recorder.Request) bool { return r.Verb == "watch" || r.Verb == "list" }
	return []fault{
		{name: "503 for a while", inject: injecting(recorder.Times(8, patch, recorder.Status(503, "ServiceUnavailable", "busy")))},
		{name: "500 etcd leader changed", inject: injecting(recorder.Times(5, patch, recorder.Status(500, "InternalError", "etcdserver: leader changed")))},
		{name: "429 storm", inject: injecting(recorder.Times(20, patch, recorder.TooManyRequests("1")))},
		{name: "409 lost update", inject: injecting(recorder.Times(5, patch, recorder.Status(409, "Conflict", "the object has been modified")))},
		{name: "connection resets", inject: injecting(recorder.Times(8, patch, recorder.Reset))},
		{name: "404 after established", inject: injecting(recorder.Times(3, recorder.Verb("patch", "gizmos"), recorder.NotServed))},
		{name: "410 on watches", inject: injecting(recorder.Times(3, watch, recorder.Status(410, "Expired", "too old resource version")))},
		{name: "410 within watches", inject: injecting(recorder.Times(3, recorder.Verb("watch", ""), recorder.Expired))},
		{name: "watches forbidden", inject: injecting(recorder.Always(watch, recorder.Status(403, "Forbidden", "may not watch")))},
		{name: "watches not served", inject: injecting(recorder.Always(watch, recorder.Status(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")))},
		{name: "watches not by name", inject: injecting(recorder.Always(watch, recorder.Status(400, "BadRequest", "field label not supported: metadata.name")))},
		{name: "watches break", inject: injecting(recorder.Times(5, watch, recorder.Reset))},
		{name: "slow discovery", inject: func(p *recorder.Proxy) {
			p.Inject(recorder.Always(recorder.Verb("discovery", ""), p.Slowly(time.Second)))
		}},
		{name: "discovery breaks off", inject: injecting(recorder.Times(3, recorder.Verb("discovery", ""), recorder.Reset))},
		{name: "GOAWAY with every answer", http2: true, inject: func(p *recorder.Proxy) { p.Inject(recorder.Always(recorder.Verb("patch", ""), p.GoAway)) }},
		{name: "streams reset", http2: true, inject: injecting(recorder.Times(5, patch, recorder.Reset))},
		{name: "404 for ever", inject: injecting(recorder.Always(recorder.Verb("patch", "gizmos"), recorder.NotServed)), code: report.ExitFailed, says: "apply Gizmo.NAMESPACE.example NAMESPACE/one: the API server stopped serving this kind: "},
		{name: "the server restarts", inject: func(p *recorder.Proxy) {
			time.AfterFunc(1500*time.Millisecond, func() {
				mend := p.Break()
				time.AfterFunc(3*time.Second, mend)
			})
		}},
		{
			name: "503 for ever", inject: injecting(recorder.Always(recorder.Verb("patch", "configmaps"), recorder.Status(503, "ServiceUnavailable", "busy"))),
			code: report.ExitFailed, says: "apply ConfigMap NAMESPACE/settings: busy; the API server, or a proxy in front of it, is unavailable: ", tried: true,
		},
		{
			name: "429 for ever", inject: injecting(recorder.Always(recorder.Verb("patch", "configmaps"), recorder.TooManyRequests("1"))),
			code: report.ExitFailed, says: "apply ConfigMap NAMESPACE/settings: too many requests; the API server, or a proxy in front of it, is limiting requests: ", tried: true,
		},
		{
			name: "connection resets for ever", inject: injecting(recorder.Always(recorder.Verb("patch", "configmaps"), recorder.Reset)),
			code: report.ExitFailed, says: "apply ConfigMap NAMESPACE/settings: the API server could not be reached: ", tried: true,
		},
		{
			name: "denied by a webhook", inject: injecting(recorder.Always(recorder.Verb("patch", "configmaps"), recorder.Status(403, "Forbidden", `admission webhook "guard.example" denied the request: no`))),
			code: report.ExitFailed, says: `apply ConfigMap NAMESPACE/settings: admission webhook "guard.example" denied the request: no`,
		},
	}
}

func injecting(decide func(*recorder.Request) recorder.Fault) func(*recorder.Proxy) {
	return func(p *recorder.Proxy) { p.Inject(decide) }
}

func TestFaults(t *testing.T) {
	cluster := battered.Get(t)
	for i, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			namespace := fmt.Sprintf("fault-%d", i)
			stream := faultStream(namespace)
			start := recorder.Start
			if f.http2 {
				start = recorder.StartHTTP2
			}
			proxy := start(t, cluster.Kubeconfig)
			f.inject(proxy)
			code, output := applyThrough(proxy.Kubeconfig, stream)
			require.Equal(t, f.code, code, output)
			if f.says != "" {
				require.Contains(t, output, strings.ReplaceAll(f.says, "NAMESPACE", namespace))
			}
			if f.tried {
				require.Regexp(t, `; gave up after \d+ attempts in [2-9]\d[.\d]*s\n`, output)
			}
			proxy.Inject(nil)
			code, output = applyThrough(proxy.Kubeconfig, stream)
			require.Equal(t, report.ExitDone, code, "the second run finishes the work: %s", output)
		})
	}
}

func applyThrough(kubeconfig string, stream []byte, more ...string) (int, string) {
	var out, err bytes.Buffer
	code := run(context.Background(), append([]string{"apply", "-f", "-", "--kubeconfig", kubeconfig, "--wave-timeout", "3m"}, more...), bytes.NewReader(stream), &out, &err)
	return code, err.String()
}

// faultStream returns a Namespace, a CRD with a custom resource, a ConfigMap,
// and a Deployment that takes two seconds.
func faultStream(namespace string) []byte {
	text, err := os.ReadFile(filepath.Join("testdata", "faults.yaml"))
	if err != nil {
		panic(err)
	}
	return []byte(strings.ReplaceAll(string(text), "NAMESPACE", namespace))
}
