package history

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/ordering/planner"
)

// Whatever the Secrets of a history contain, reading them returns a revision
// that can be applied and stored again, or an error.
func FuzzRevision(f *testing.F) {
	samples, err := filepath.Glob(filepath.Join("testdata", "revisions", "*.gz"))
	require.NoError(f, err)
	for _, name := range samples {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		text, err := unzip(data, limits.RevisionText)
		require.NoError(f, err)
		f.Add(text)
	}
	for _, text := range []string{
		`{"format":"v2","plan":{"steps":[{"id":{"kind":"A","name":"a"},"gate":"ready"}],"waves":[{}]},"resources":[{"object":{"kind":"A","metadata":{"name":"a"}}}]}`,
		`{"format":"v3","plan":{"steps":[{"id":{"kind":"A"},"gate":7}]},"resources":[{"object":[]}]}`,
		`[]`, `{"format":"v99"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = decode(text)
		r, err := decodeText(text)
		if err != nil {
			return
		}
		require.Len(t, r.Objects(), len(r.Resources))
		require.LessOrEqual(t, len(r.Plan.Steps), len(r.Resources))
		digest := digestOf(t, *r)
		again, err := decode(encoded(t, *r))
		require.NoError(t, err)
		require.Equal(t, digest, digestOf(t, *again))
		_, _ = planner.DeletionOrder(r.Resources, r.Options)
	})
}

// The same for the metadata and the data of single Secrets.
func FuzzChunk(f *testing.F) {
	f.Add("3", "deployed", "", `{"digest":"sha256:x","chunks":2,"resources":4,"layers":1,"waves":2,"rollback":1}`, base64.StdEncoding.EncodeToString([]byte("data")))
	f.Add("-1", "", "1", `{"chunks":-9223372036854775808}`, "====")
	f.Add("99999999999999999999", "odd", "x", `[]`, "")
	f.Fuzz(func(t *testing.T, revision, status, chunk, about, data string) {
		secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{dataKey: data}}}
		secret.SetName("ordapply.shop.v1")
		secret.SetLabels(map[string]string{RevisionLabel: revision, StatusLabel: status, chunkLabel: chunk})
		secret.SetAnnotations(map[string]string{summaryAnnotation: about})
		require.GreaterOrEqual(t, numberOf(secret), 0)
		_, _ = readEntry(secret)
		part, err := unpack(secret)
		if err == nil {
			_, _ = decode(part)
		}
	})
}
