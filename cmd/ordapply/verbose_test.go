package main

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
)

// -v 2 logs each retry with attempt, pause and cause (k8sconnect ADR-007), including
// client-go's, and never the content of Secrets.
func TestVerboseRetries(t *testing.T) {
	cluster := shared.Get(t)
	manifest := []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: retried, namespace: default}\nstringData: {password: hunter2-and-more}\n")
	refusing := func(fault recorder.Fault, times int32) *recorder.Proxy {
		proxy := recorder.Start(t, cluster.Kubeconfig)
		var seen atomic.Int32
		proxy.Inject(func(r *recorder.Request) recorder.Fault {
			if r.Verb == "patch" && seen.Add(1) <= times {
				return fault
			}
			return nil
		})
		return proxy
	}
	unavailable := recorder.Status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, `busy with "hunter2-and-more"`)

	code, output := applyThrough(refusing(unavailable, 3).Kubeconfig, manifest, "-v", "2")
	require.Equal(t, report.ExitDone, code, output)
	for _, attempt := range []string{"1", "2", "3"} {
		require.Regexp(t, `(?m)^retry `+attempt+` in [0-9.]+m?s: apply Secret default/retried: busy with `, output)
	}
	require.NotContains(t, output, "hunter2-and-more")
	require.NotContains(t, output, "PATCH https://")

	manifest = []byte(strings.Replace(string(manifest), "more", "less", 1))
	code, output = applyThrough(refusing(unavailable, 1).Kubeconfig, manifest, "-v", "1")
	require.Equal(t, report.ExitDone, code, output)
	require.NotContains(t, output, "retry ")

	manifest = []byte(strings.Replace(string(manifest), "less", "little", 1))
	code, output = applyThrough(refusing(recorder.TooManyRequests("1"), 1).Kubeconfig, manifest, "-v", "3")
	require.Equal(t, report.ExitDone, code, output)
	require.Contains(t, output, "retry in 1s: PATCH /api/v1/namespaces/default/secrets/retried: 429 Too Many Requests\n")
	require.Regexp(t, `(?m)^PATCH \S+/secrets/retried\S*: 429 Too Many Requests in `, output)
	require.Regexp(t, `(?m)^PATCH \S+/secrets/retried\S*: 200 OK in `, output)
	require.NotContains(t, output, "hunter2")
}
