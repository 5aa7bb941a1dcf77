package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ordapply/ordapply/internal/cli/report"
)

// Errors before the API server's first response have a remedy, unlike
// client-go's.
func TestServersThatDoNotAnswer(t *testing.T) {
	plugin := &clientcmdapi.ExecConfig{APIVersion: "client.authentication.k8s.io/v1", Command: "no-such-login", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}
	for name, c := range map[string]struct {
		status  int
		cluster clientcmdapi.Cluster
		user    clientcmdapi.AuthInfo
		want    string
	}{
		"nobody":     {status: http.StatusForbidden, want: "refused discovery: 403 Forbidden: the kubeconfig's user has no credentials, "},
		"no server":  {status: http.StatusNotFound, want: "refused discovery: 404 Not Found: no API server at this address; "},
		"plain http": {status: http.StatusBadRequest, want: "400 Bad Request: it may expect https, and the kubeconfig's cluster.server says http"},
		"authority": {cluster: clientcmdapi.Cluster{CertificateAuthorityData: []byte("none")},
			want: "error: the kubeconfig cannot be used: unable to load root certificates"},
		"plugin": {user: clientcmdapi.AuthInfo{Exec: plugin},
			want: "error: the kubeconfig's user (context here) logs in with the program no-such-login, which is not in PATH: install it\n"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(c.status) }))
			defer server.Close()
			if c.cluster.Server = server.URL; c.status == 0 { // nothing is sent
				c.cluster.Server = strings.Replace(server.URL, "http", "https", 1)
			}
			output := applyErrors(t, c.cluster, c.user)
			require.Contains(t, output, c.want)
			require.Equal(t, 1, strings.Count(output, "\n"), output)
		})
	}
}

// applyErrors returns the standard error of an apply to a cluster as a user.
func applyErrors(t *testing.T, cluster clientcmdapi.Cluster, user clientcmdapi.AuthInfo) string {
	t.Helper()
	folder := t.TempDir()
	config, app := filepath.Join(folder, "kubeconfig"), filepath.Join(folder, "app.yaml")
	require.NoError(t, os.WriteFile(app, []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"), 0o600))
	require.NoError(t, clientcmd.WriteToFile(clientcmdapi.Config{
		CurrentContext: "here",
		Clusters:       map[string]*clientcmdapi.Cluster{"here": &cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"here": &user},
		Contexts:       map[string]*clientcmdapi.Context{"here": {Cluster: "here", AuthInfo: "here"}},
	}, config))
	var out, output bytes.Buffer
	require.Equal(t, report.ExitFailed, run(t.Context(), []string{"apply", "-f", app, "--kubeconfig", config}, nil, &out, &output))
	return output.String()
}
