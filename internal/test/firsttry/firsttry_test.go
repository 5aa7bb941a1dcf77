package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/test/corpora"
	"github.com/ordapply/ordapply/internal/test/testcluster"
)

// A sample of `make first-try`: streams with webhooks that fail closed, with an
// operator that creates CRDs, and that cannot converge unmodified, each
// unmodified and shuffled once.
func TestSampleOfFirstTries(t *testing.T) {
	folder := corpora.Need(t)
	for _, program := range []string{"localcluster", "ordapply"} {
		if _, err := testcluster.Find(program); err != nil {
			testcluster.Skip(t, "the "+program+" command (run `make build localcluster`)")
		}
	}
	for _, name := range []string{"metallb", "gatekeeper"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chosen, err := choose([]string{name})
			require.NoError(t, err)
			trial := &trial{folder: folder, dir: t.TempDir(), shuffles: 1, progress: t.Output()}
			rows, err := trial.all(t.Context(), chosen)
			require.NoError(t, err)
			for _, r := range rows {
				require.Equal(t, 2, r.good)
				require.True(t, r.refused || r.reviews > 0, "no webhook was asked")
			}
		})
	}
}

// The table summarizes each row and marks unexpected results.
func TestVerdicts(t *testing.T) {
	outside := stream{name: "a", finds: meshKinds()}
	for want, r := range map[string]row{
		"as it stands: faults named 3, written 0":  {stream: outside, refused: true, tries: 2, good: 2, faults: 3},
		"FAILED: as it stands, 7 writes":           {stream: outside, refused: true, tries: 2, good: 1, writes: 7},
		"converges with the kinds that it expects": {stream: outside, tries: 2, good: 2},
		"converges without what nothing can apply": {stream: stream{name: "b", leaves: []string{"Job/"}}, tries: 2, good: 2},
		"converges as it stands":                   {stream: stream{name: "b"}, tries: 2, good: 2},
		"FAILED":                                   {stream: stream{name: "b"}, tries: 2, good: 1},
	} {
		require.Equal(t, want, r.verdict())
	}
	_, err := choose([]string{"flux", "fluxx"})
	require.EqualError(t, err, `no stream is called "fluxx"`)
}
