package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
	"github.com/ordapply/ordapply/test/testcluster"
)

// unservedKinds: objects of a kind that the API server temporarily does not
// serve, or does not list yet after a start, still exist: they are neither
// forgotten nor considered deleted. These tests run sequentially on a cluster
// whose API server they restart.
func unservedKinds(t *testing.T, dir string) {
	t.Run("unserved kind", func(t *testing.T) { unservedKind(t, dir) })
	t.Run("kind installed meanwhile", func(t *testing.T) { installedMeanwhile(t, dir) })
	t.Run("just started, prune", func(t *testing.T) { justStartedPrune(t, dir) })
	t.Run("just started, delete", func(t *testing.T) { justStartedDelete(t, dir) })
}

// gadgets returns a CRD in a group of its own.
func gadgets(group string, served bool) string {
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: Gadget, listKind: GadgetList, plural: gadgets, singular: gadget}
  versions:
  - {name: v1, served: %[2]v, storage: true, schema: {openAPIV3Schema: {type: object}}}
`, group, served)
}

const oneSetting = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n"

func gadget(group string) string {
	return fmt.Sprintf("apiVersion: %s/v1\nkind: Gadget\nmetadata: {name: g}\n", group)
}

// kubectlOn runs kubectl on a detached cluster.
func kubectlOn(t *testing.T, dir, stdin string, args ...string) (string, error) {
	t.Helper()
	bin, err := testcluster.Find("localcluster")
	require.NoError(t, err)
	cmd := exec.Command(bin, append([]string{"kubectl", "--dir", dir, "--"}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func mustKubectl(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	out, err := kubectlOn(t, dir, stdin, args...)
	require.NoError(t, err, out)
	return out
}

// serve sets whether the kind is served, and waits until discovery agrees.
func serve(t *testing.T, dir, group string, served bool) {
	t.Helper()
	mustKubectl(t, dir, gadgets(group, served), "apply", "-f", "-")
	require.Eventually(t, func() bool {
		_, err := kubectlOn(t, dir, "", "get", "--raw", "/apis/"+group+"/v1")
		return (err == nil) == served
	}, 3*time.Minute, 200*time.Millisecond)
}

// setOf creates a namespace with a set that contains a ConfigMap and a Gadget.
func setOf(t *testing.T, dir, namespace, group string) (kubeconfig string, flags []string) {
	t.Helper()
	serve(t, dir, group, true)
	mustKubectl(t, dir, "", "create", "namespace", namespace)
	kubeconfig, flags = filepath.Join(dir, "kubeconfig"), []string{"--applyset", "s", "-n", namespace, "--prune", "--status-grace", "0s"}
	code, output := applyThrough(kubeconfig, []byte(oneSetting+"---\n"+gadget(group)), flags...)
	require.Equal(t, report.ExitDone, code, output)
	return kubeconfig, flags
}

func promised(t *testing.T, dir, namespace string) string {
	t.Helper()
	return mustKubectl(t, dir, "", "get", "secret", "s", "-n", namespace, "-o", `jsonpath={.metadata.annotations.applyset\.kubernetes\.io/contains-group-kinds}`)
}

func unservedKind(t *testing.T, dir string) {
	const group, namespace = "unserved.example", "unserved"
	kubeconfig, flags := setOf(t, dir, namespace, group)
	serve(t, dir, group, false)

	code, output := applyThrough(kubeconfig, []byte(oneSetting), flags...)
	require.Equal(t, report.ExitDone, code, output)
	require.Contains(t, output, "members of kind Gadget.unserved.example are left unchanged")
	require.Contains(t, output, "set served: true for one of them (kubectl edit crd gadgets.unserved.example)")
	require.Equal(t, "ConfigMap,Gadget.unserved.example", promised(t, dir, namespace))

	code, _, output = deleteThrough(kubeconfig, nil, "-f", "-") // an empty stream
	require.Equal(t, report.ExitFailed, code, output)
	code, out, output := deleteThrough(kubeconfig, []byte(gadget(group)), "-n", namespace)
	require.Equal(t, report.ExitFailed, code, output)
	require.Contains(t, output, "the API server does not serve Gadget.unserved.example now, but its objects may still exist")
	require.NotContains(t, out, "not found")

	code, output = deleteSet(kubeconfig, "s", namespace)
	require.Equal(t, report.ExitFailed, code, output)
	require.Contains(t, output, "the apply set has members of kind Gadget.unserved.example that cannot be listed")
	mustKubectl(t, dir, "", "get", "configmap", "m", "-n", namespace)
	mustKubectl(t, dir, "", "get", "secret", "ordapply.s.v1", "-n", namespace)

	// The contents of its Namespace are not known either.
	code, _, output = deleteThrough(kubeconfig, []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: "+namespace+"}\n"))
	require.Equal(t, report.ExitDone, code, output)
	require.Contains(t, output, "kept: its contents cannot be read: the API server does not serve Gadget.unserved.example now")

	serve(t, dir, group, true)
	code, output = applyThrough(kubeconfig, []byte(oneSetting), flags...)
	require.Equal(t, report.ExitDone, code, output)
	require.Contains(t, output, "Gadget.unserved.example unserved/g  deleted")
	require.Equal(t, "ConfigMap", promised(t, dir, namespace))

	// A kind whose CRD was deleted has no objects.
	code, output = applyThrough(kubeconfig, []byte(oneSetting+"---\n"+gadget(group)), flags...)
	require.Equal(t, report.ExitDone, code, output)
	mustKubectl(t, dir, "", "delete", "crd", "gadgets."+group)
	code, out, output = deleteThrough(kubeconfig, []byte(gadget(group)), "-n", namespace)
	require.Equal(t, report.ExitDone, code, output)
	require.Contains(t, out, "not found")
	code, output = deleteSet(kubeconfig, "s", namespace)
	require.Equal(t, report.ExitDone, code, output)
}

// deleteSet deletes an apply set.
func deleteSet(kubeconfig, name, namespace string) (int, string) {
	var out, output strings.Builder
	code := run(context.Background(), []string{"delete", "--applyset", name, "-n", namespace, "--kubeconfig", kubeconfig, "--wave-timeout", "3m"}, strings.NewReader(""), &out, &output)
	return code, output.String()
}

// justStartedPrune: a run that starts as soon as the API server responds again
// completes its work.
func justStartedPrune(t *testing.T, dir string) {
	const group, namespace = "started.example", "started"
	kubeconfig, flags := setOf(t, dir, namespace, group)
	testcluster.RestartAPIServer(t, dir, time.Second)
	code, output := onceItAnswers(t, func() (int, string) { return applyThrough(kubeconfig, []byte(oneSetting), flags...) })
	t.Logf("exit code %d: %s", code, output)
	if left, _ := kubectlOn(t, dir, "", "get", "gadgets."+group, "-n", namespace, "-o", "name"); strings.Contains(left, "gadget") {
		require.Contains(t, promised(t, dir, namespace), "Gadget", "it lives and is forgotten")
	}
	code, output = applyThrough(kubeconfig, []byte(oneSetting), flags...)
	require.Equal(t, report.ExitDone, code, output)
	require.Empty(t, strings.TrimSpace(mustKubectl(t, dir, "", "get", "gadgets."+group, "-n", namespace, "-o", "name")))
}

func justStartedDelete(t *testing.T, dir string) {
	const group, namespace = "again.example", "again"
	kubeconfig, _ := setOf(t, dir, namespace, group)
	testcluster.RestartAPIServer(t, dir, time.Second)
	code, output := onceItAnswers(t, func() (int, string) { return deleteSet(kubeconfig, "s", namespace) })
	t.Logf("exit code %d: %s", code, output)
	if code != report.ExitDone {
		mustKubectl(t, dir, "", "get", "secret", "s", "-n", namespace)
		code, output = deleteSet(kubeconfig, "s", namespace)
		require.Equal(t, report.ExitDone, code, output)
	}
	require.Empty(t, strings.TrimSpace(mustKubectl(t, dir, "", "get", "gadgets."+group, "-n", namespace, "-o", "name")))
}

// onceItAnswers calls do as soon as the API server responds at all.
func onceItAnswers(t *testing.T, do func() (int, string)) (code int, output string) {
	t.Helper()
	require.Eventually(t, func() bool {
		code, output = do()
		return !strings.Contains(output, "does not answer") && !strings.Contains(output, "refused discovery") && !strings.Contains(output, "forbidden")
	}, 3*time.Minute, 20*time.Millisecond)
	return code, output
}

// installedMeanwhile: a run that read discovery before another run installed a
// kind, and then waited for its lock, knows the other's members.
func installedMeanwhile(t *testing.T, dir string) {
	const group, namespace = "meanwhile.example", "meanwhile"
	mustKubectl(t, dir, "", "create", "namespace", namespace)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	flags := []string{"--applyset", "s", "-n", namespace, "--prune", "--status-grace", "0s"}
	proxy := recorder.Start(t, kubeconfig)
	var once sync.Once
	proxy.Inject(func(r *recorder.Request) recorder.Fault {
		if r.Resource == "leases" {
			once.Do(func() {
				serve(t, dir, group, true)
				code, output := applyThrough(kubeconfig, []byte(oneSetting+"---\n"+gadget(group)), flags...)
				assert.Equal(t, report.ExitDone, code, output)
			})
		}
		return nil
	})
	code, output := applyThrough(proxy.Kubeconfig, []byte(oneSetting), flags...)
	require.Equal(t, report.ExitDone, code, output)
	require.Contains(t, output, "Gadget.meanwhile.example meanwhile/g  deleted")
}
