package main

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCertificatesVerify(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, writeCerts(dir))
	for _, c := range []struct {
		name, by string
		usage    x509.ExtKeyUsage
		host     string
	}{
		{"kube-apiserver", "ca", x509.ExtKeyUsageServerAuth, "127.0.0.1"},
		{"kube-apiserver", "ca", x509.ExtKeyUsageServerAuth, "kubernetes.default.svc"},
		{"kubelet", "ca", x509.ExtKeyUsageServerAuth, "127.0.0.1"},
		{"kubelet-client", "ca", x509.ExtKeyUsageClientAuth, ""},
		{"front-proxy-client", "front-proxy-ca", x509.ExtKeyUsageClientAuth, ""},
	} {
		require.NoError(t, verify(dir, c.name, c.by, c.usage, c.host), "%s for %s", c.name, c.host)
	}
	require.Error(t, verify(dir, "kubelet-client", "front-proxy-ca", x509.ExtKeyUsageClientAuth, ""),
		"else every client with a certificate could pretend to be the front proxy")
	require.Error(t, verify(dir, "kubelet-client", "ca", x509.ExtKeyUsageServerAuth, ""))

	info, err := os.Stat(filepath.Join(dir, "ca.key"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// verify reads NAME and its key as a pair, as a server would, and checks it against the authority.
func verify(dir, name, authority string, usage x509.ExtKeyUsage, host string) error {
	file := func(name string) string { return filepath.Join(dir, name) }
	pair, err := tls.LoadX509KeyPair(file(name+".crt"), file(name+".key"))
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(file(authority + ".crt"))
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, KeyUsages: []x509.ExtKeyUsage{usage}})
	return err
}
