package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
)

// Invalid and expired credentials give the same advice, before a run and during
// one.
func TestCredentialsThatAreNotAccepted(t *testing.T) {
	cluster := shared.Get(t)
	stream := []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stranger, namespace: default}\n")

	config, err := clientcmd.LoadFromFile(cluster.Kubeconfig)
	require.NoError(t, err)
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: "no such token"}
	}
	stranger := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, stranger))
	code, output := applyThrough(stranger, stream)
	require.Equal(t, report.ExitFailed, code, output)
	require.Contains(t, output, "does not accept the credentials of your kubeconfig: log in again (")

	for name, args := range map[string][]string{
		"during a run": {}, "in an apply set": {"--applyset", "stranger", "-n", "default"},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := recorder.Start(t, cluster.Kubeconfig)
			proxy.Inject(recorder.Always(func(r *recorder.Request) bool { return r.Verb != "discovery" && r.Verb != "review" },
				recorder.Status(401, "Unauthorized", "Unauthorized")))
			code, output = applyThrough(proxy.Kubeconfig, stream, args...)
			require.Equal(t, report.ExitFailed, code, output)
			require.Contains(t, output, "does not accept the credentials of your kubeconfig: log in again")
		})
	}
}
