package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/testcluster"
)

// lesserAccounts are Roles for users that lack one permission for an apply set. RBAC only
// adds permissions, so that each lists the others.
const lesserAccounts = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: denied-no-secrets}
rules:
- {apiGroups: [""], resources: [configmaps, namespaces, events, pods, pods/log], verbs: ["*"]}
- {apiGroups: [apps, batch, coordination.k8s.io, apiextensions.k8s.io, apiregistration.k8s.io, ordapply.dev], resources: ["*"], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: denied-no-leases}
rules:
- {apiGroups: ["", apps, batch, apiextensions.k8s.io, apiregistration.k8s.io, ordapply.dev], resources: ["*"], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: denied-no-list}
rules:
- {apiGroups: ["*"], resources: ["*"], verbs: [get, watch, create, update, patch, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: denied-nothing}
rules: []
`

// A missing permission is an error that names it and the command that prints the Roles,
// for every verb that opens an apply set, and nothing is written.
func TestMissingPermissionsOfASet(t *testing.T) {
	cluster := shared.Get(t)
	cluster.Kubectl(t, "create", "namespace", "denied")
	kubectlApply(t, cluster, lesserAccounts)
	for _, name := range []string{"no-secrets", "no-leases", "no-list", "nothing"} {
		cluster.Kubectl(t, "create", "clusterrolebinding", "denied-"+name, "--clusterrole=denied-"+name, "--user="+name)
	}
	dir := t.TempDir()
	manifests, plan := filepath.Join(dir, "app.yaml"), filepath.Join(dir, "app.plan")
	for _, size := range []int{1, 2} {
		require.NoError(t, os.WriteFile(manifests, []byte(configMapStream("denied", size)), 0o600))
		code, output := ordapplyWith(cluster.Kubeconfig, "apply", "-f", manifests, "-n", "denied", "--applyset", "shop")
		require.Equal(t, report.ExitDone, code, output)
	}
	require.NoError(t, os.WriteFile(manifests, []byte(configMapStream("denied", 3)), 0o600))
	code, output := ordapplyWith(cluster.Kubeconfig, "plan", "-f", manifests, "-n", "denied", "--applyset", "shop", "--out", plan)
	require.Equal(t, report.ExitDone, code, output)

	// By verb, the accounts that can do it nevertheless: it needs no Lease, or no list.
	onSet := []string{"-f", manifests, "--applyset", "shop"}
	for _, verb := range []struct {
		args    []string
		allowed map[string]bool
	}{
		{[]string{"status", "shop"}, map[string]bool{"no-leases": true}},
		{[]string{"status", "shop", "--watch"}, map[string]bool{"no-leases": true}},
		{[]string{"list"}, map[string]bool{"no-leases": true}},
		{[]string{"history", "shop"}, map[string]bool{"no-leases": true}},
		{[]string{"history", "shop", "--revision", "1"}, map[string]bool{"no-leases": true}},
		{[]string{"history", "show", "shop", "1"}, map[string]bool{"no-leases": true}},
		{[]string{"history", "diff", "shop", "1", "2"}, map[string]bool{"no-leases": true}},
		{[]string{"rollback", "shop"}, nil},
		{[]string{"rollback", "shop", "--to-revision", "1", "--dry-run=server"}, map[string]bool{"no-leases": true}},
		{[]string{"delete", "--applyset", "shop", "-y"}, nil},
		{[]string{"delete", "--applyset", "shop", "--dry-run=client"}, map[string]bool{"no-leases": true}},
		{[]string{"applyset", "hand-over", "shop", "--to", "kubectl"}, nil},
		{[]string{"applyset", "trust", "shop", "--yes"}, nil},
		{append([]string{"apply"}, onSet...), nil},
		{append([]string{"apply", "--prune", "--rollback-on-failure"}, onSet...), nil},
		{append([]string{"apply", "--take-over"}, onSet...), nil},
		{append([]string{"apply", "--dry-run=server"}, onSet...), map[string]bool{"no-leases": true, "no-list": true}},
		{[]string{"apply", "--plan", plan}, nil},
		{append([]string{"plan", "--prune"}, onSet...), map[string]bool{"no-leases": true}},
		{append([]string{"diff", "--prune"}, onSet...), map[string]bool{"no-leases": true}},
	} {
		for _, account := range []string{"no-secrets", "no-leases", "no-list", "nothing"} {
			if !verb.allowed[account] {
				t.Run(verb.args[0]+" "+account, func(t *testing.T) { isDenied(t, cluster, account, verb.args) })
			}
		}
	}
	require.Equal(t, "configmap/c0 configmap/c1", strings.Join(strings.Fields(cluster.Kubectl(t, "get", "configmap", "-n", "denied", "-o", "name", "-l", "applyset.kubernetes.io/part-of")), " "), "nothing was written")
}

// isDenied runs a command as an account that may not do it.
func isDenied(t *testing.T, cluster *testcluster.Cluster, account string, args []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out, stderr bytes.Buffer
	code := run(ctx, append(args, "-n", "denied", "--as", account, "--kubeconfig", cluster.Kubeconfig), nil, &out, &stderr)
	want := report.ExitFailed
	if args[0] == "diff" {
		want = report.ExitDiffFailed
	}
	require.Equal(t, want, code, "%v: %s", args, stderr.String())
	require.Regexp(t, `(?m)^error: .*("`+account+`" cannot|"`+account+`" may not)`, stderr.String(), "%v", args)
	require.Regexp(t, "print the required Roles with: ordapply rbac -(f|n) ", stderr.String(), "%v", args)
	require.Contains(t, stderr.String(), "--user "+account, "%v", args)
}
