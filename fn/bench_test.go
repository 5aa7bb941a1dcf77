package fn_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	sdk "github.com/GoogleContainerTools/kpt-functions-sdk/go/fn"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/test/corpora"
)

// BenchmarkResourceList compares a run with functions that parse and print the
// same list without changes. test/peers/fnbench does so with whole
// processes.
func BenchmarkResourceList(b *testing.B) {
	lists := map[string][]byte{}
	for _, n := range []int{1_000, 5_000, 20_000} {
		lists[fmt.Sprintf("made-%05d", n)] = madeList(n)
	}
	if dir, err := corpora.Dir(); err == nil {
		stream, err := os.ReadFile(filepath.Join(dir, "kube-prometheus.yaml"))
		require.NoError(b, err)
		lists["largest-corpus"] = []byte(wrapped(string(fn.Strip(stream).Stream())))
	}
	for name, in := range lists {
		b.Run(name+"/ours", func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				require.False(b, fn.Processor{}.Run(in).Findings.Failed())
			}
		})
		b.Run(name+"/kyaml-no-op", func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			nothing := framework.ResourceListProcessorFunc(func(*framework.ResourceList) error { return nil })
			for b.Loop() {
				require.NoError(b, framework.Execute(nothing, &kio.ByteReadWriter{Reader: bytes.NewReader(in), Writer: &bytes.Buffer{}}))
			}
		})
		b.Run(name+"/sdk-no-op", func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			nothing := sdk.ResourceListProcessorFunc(func(*sdk.ResourceList) (bool, error) { return true, nil })
			for b.Loop() {
				_, err := sdk.Run(nothing, in)
				require.NoError(b, err)
			}
		})
	}
}

// madeList returns a ResourceList of small Deployments and ConfigMaps.
func madeList(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		if i > 0 {
			b.WriteString("---\n")
		}
		if i%2 == 0 {
			fmt.Fprintf(&b, "apiVersion: v1\ndata:\n  a: one\n  b: two\nkind: ConfigMap\nmetadata:\n  labels:\n    app: app-%d\n  name: object-%05d\n  namespace: ns-%d\n", i%50, i, i%20)
			continue
		}
		fmt.Fprintf(&b, "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  annotations:\n    config.kubernetes.io/index: '%d'\n  name: object-%05d\n  namespace: ns-%d\n"+
			"spec:\n  template:\n    spec:\n      containers:\n      - image: registry/x:1\n        name: x\n", i, i, i%20)
	}
	return []byte(wrapped(b.String()))
}
