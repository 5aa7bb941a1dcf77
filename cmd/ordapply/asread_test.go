package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/test/recorder"
)

// Between a run's read of an object and its PATCH, a controller may update it,
// or a user may delete and recreate it: one more PATCH brings it to the
// manifest's state. Otherwise no PATCH is sent twice.
func TestAnObjectIsWrittenAsItWasRead(t *testing.T) {
	cluster := battered.Get(t)
	client := cluster.Client(t)
	kind, _ := client.Kind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	change := func(name string) error {
		live, err := client.Get(t.Context(), kind, "as-read", name)
		if err != nil {
			return err
		}
		_ = unstructured.SetNestedField(live.Object, "theirs", "data", "controller")
		_, err = client.Update(t.Context(), kind, live)
		return err
	}
	remove := func(name string) error {
		live, err := client.Get(t.Context(), kind, "as-read", name)
		if err != nil {
			return err
		}
		return client.Delete(t.Context(), kind, live, kube.DeleteOptions{})
	}
	cluster.Kubectl(t, "create", "namespace", "as-read")
	for name, c := range map[string]struct {
		meanwhile func(name string) error
		patches   int
		adopt     string
		says      string
	}{
		"nothing":    {func(string) error { return nil }, 1, "unowned", ""},
		"changed":    {change, 2, "unowned", ""},
		"deleted":    {remove, 2, "unowned", ""},
		"kept-apart": {change, 2, "never", ""},
		"made-anew": {func(name string) error {
			if err := remove(name); err != nil {
				return err
			}
			cluster.Kubectl(t, "create", "configmap", "-n", "as-read", name)
			return nil
		}, 2, "unowned", ""},
		"not-ours": {func(name string) error {
			if err := remove(name); err != nil {
				return err
			}
			cluster.Kubectl(t, "create", "configmap", "-n", "as-read", name)
			return nil
		}, 1, "never", "it exists and belongs to no apply set"},
	} {
		t.Run(name, func(t *testing.T) {
			manifest := func(value string) []byte {
				return fmt.Appendf(nil, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: as-read}\ndata: {value: %s}\n", name, value)
			}
			flags := []string{"--applyset", "set-" + name, "-n", "as-read", "--adopt", c.adopt}
			code, output := applyThrough(cluster.Kubeconfig, manifest("one"), flags...)
			require.Equal(t, report.ExitDone, code, output)
			proxy := recorder.Start(t, cluster.Kubeconfig)
			done := false
			proxy.Inject(func(r *recorder.Request) recorder.Fault {
				if r.Verb == "patch" && r.Resource == "configmaps" && !done {
					done = true
					require.NoError(t, c.meanwhile(name))
				}
				return nil
			})
			code, output = applyThrough(proxy.Kubeconfig, manifest("two"), flags...)
			sent := 0
			for _, r := range proxy.Requests() {
				if r.Verb == "patch" && r.Resource == "configmaps" {
					sent++
				}
			}
			require.Equal(t, c.patches, sent, output)
			live, err := client.Get(t.Context(), kind, "as-read", name)
			require.NoError(t, err)
			value, _, _ := unstructured.NestedString(live.Object, "data", "value")
			if c.says != "" {
				require.Equal(t, report.ExitFailed, code, output)
				require.Contains(t, output, c.says)
				require.Empty(t, value)
				return
			}
			require.Equal(t, report.ExitDone, code, output)
			require.Equal(t, "two", value)
			proxy.Reset()
			code, output = applyThrough(proxy.Kubeconfig, manifest("two"), flags...)
			require.Equal(t, report.ExitDone, code, output)
			require.Zero(t, patches(proxy.Requests()), "the version that was sent is no part of the fingerprint")
		})
	}
}
