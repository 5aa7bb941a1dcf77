package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
)

// A set's Deployments in five namespaces are watched by one watch with the set's label;
// with permissions only in these namespaces, by one watch in each.
func TestWatchesOfASet(t *testing.T) {
	cluster := shared.Get(t)
	namespaces, file := fiveNamespaces(t)
	for _, namespace := range namespaces {
		cluster.Kubectl(t, "create", "namespace", namespace)
	}
	set := []string{"-f", file, "-n", "five-0", "--applyset", "five"}
	roles := printedRoles(t, append(set, "--delete", "--kubeconfig", cluster.Kubeconfig, "--service-account", "default/fiver")...)
	for _, c := range []struct {
		kubeconfig    string
		want, refused []string
	}{
		{kubeconfig: cluster.Kubeconfig, want: []string{""}},
		{kubeconfig: deployer(t, cluster, "fiver", roles), want: namespaces, refused: []string{""}},
	} {
		proxy := recorder.Start(t, c.kubeconfig)
		for _, verb := range []string{"apply", "delete"} {
			proxy.Reset()
			args := append([]string{verb}, set...)
			if verb == "delete" {
				args = []string{"delete", "-n", "five-0", "--applyset", "five"}
			}
			code, output := ordapplyWith(proxy.Kubeconfig, args...)
			require.Equal(t, report.ExitDone, code, output)
			watched, refused := watchedNamespaces(t, proxy.Requests())
			require.Equal(t, c.want, watched, verb)
			require.Equal(t, c.refused, refused, verb)
		}
	}
}

// watchedNamespaces returns the namespaces in which Deployments were watched, "" for all,
// and the forbidden ones, sorted. All watches are by label.
func watchedNamespaces(t *testing.T, requests []recorder.Request) (watched, refused []string) {
	t.Helper()
	for _, r := range requests {
		streams := r.Verb == "watch" || r.Verb == "list" && r.URL.Query().Get("sendInitialEvents") != ""
		byLabel := strings.HasPrefix(r.URL.Query().Get("labelSelector"), "applyset.kubernetes.io/part-of=")
		switch {
		case r.Resource != "deployments":
		case r.Code == 403:
			require.True(t, byLabel, r)
			refused = append(refused, r.Namespace)
		case streams:
			require.True(t, byLabel, r)
			watched = append(watched, r.Namespace)
		}
	}
	slices.Sort(watched)
	slices.Sort(refused)
	return slices.Compact(watched), slices.Compact(refused)
}

// fiveNamespaces writes three Deployments in each of five namespaces to a file.
func fiveNamespaces(t *testing.T) (namespaces []string, file string) {
	t.Helper()
	var stream strings.Builder
	for n := range 5 {
		namespace := fmt.Sprintf("five-%d", n)
		namespaces = append(namespaces, namespace)
		for i := range 3 {
			fmt.Fprintf(&stream, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d%[1]d, namespace: %[2]s}\nspec: {selector: {matchLabels: {a: d%[1]d}}, template: {metadata: {labels: {a: d%[1]d}}, spec: {containers: [{name: c, image: c}]}}}\n", i, namespace)
		}
	}
	file = filepath.Join(t.TempDir(), "five.yaml")
	require.NoError(t, os.WriteFile(file, []byte(stream.String()), 0o600))
	return namespaces, file
}

// If a member's label is removed while its readiness is waited for, the member
// is still watched, including its deletion.
func TestWatchOfAMemberThatLeavesTheSet(t *testing.T) {
	cluster := shared.Get(t)
	cluster.Kubectl(t, "create", "namespace", "leaving")
	var stream strings.Builder
	for i := range 3 {
		fmt.Fprintf(&stream, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p%d}\nspec: {nodeSelector: {nowhere: a}, containers: [{name: c, image: c}]}\n", i)
	}
	proxy := recorder.Start(t, cluster.Kubeconfig)
	watches := func(byLabel bool) func() bool {
		return func() bool {
			return slices.ContainsFunc(proxy.Requests(), func(r recorder.Request) bool {
				return r.Resource == "pods" && r.Verb == "watch" && r.Code == 200 && byLabel == (r.URL.Query().Get("labelSelector") != "")
			})
		}
	}
	ended := make(chan string, 1)
	go func() {
		_, output := applyThrough(proxy.Kubeconfig, []byte(stream.String()), "--applyset", "leaving", "-n", "leaving", "--diagnosis=false", "--wave-timeout", "5m")
		ended <- output
	}()
	eventually := func(happened func() bool) { require.Eventually(t, happened, 2*time.Minute, 100*time.Millisecond) }
	eventually(watches(true))
	cluster.Kubectl(t, "label", "pod", "p0", "-n", "leaving", "applyset.kubernetes.io/part-of-")
	eventually(watches(false))
	cluster.Kubectl(t, "delete", "pod", "p0", "-n", "leaving", "--wait=false")
	require.Regexp(t, `wait for Pod leaving/p0: .*deleted.* while the run waited for it`, <-ended)
}
