package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/test/corpora"
	"github.com/ordapply/ordapply/test/testcluster"
	"github.com/ordapply/ordapply/test/unkind"
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
	for _, name := range []string{"metallb", "gatekeeper"} { // and the program gatekeeper
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

// A program is tried without the folder of the streams. kubectl succeeds only when it is
// repeated.
func TestProgramWithoutTheFolder(t *testing.T) {
	for _, program := range []string{"localcluster", "ordapply"} {
		if _, err := testcluster.Find(program); err != nil {
			testcluster.Skip(t, "the "+program+" command (run `make build localcluster`)")
		}
	}
	t.Setenv(corpora.Variable, "")
	var table strings.Builder
	code := run(t.Context(), []string{"-shuffles", "0", "-tools", "kubectl", "eck"}, &table, t.Output())
	require.Equal(t, 0, code)
	require.Regexp(t, `\nunkind/eck +11 +1/1 .* 0/1 +1 refused +\d+ rounds +all Pods ready as it stands\n`, table.String())
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
		"all Pods ready as it stands":              {stream: stream{name: "c", program: &unkind.Program{}}, tries: 2, good: 2},
	} {
		require.Equal(t, want, r.verdict())
	}
	for loop, p := range map[string]*peer{
		"2 rounds":                 {rounds: 2},
		"2 rounds, Pods not ready": {rounds: 2, unready: true},
		"not in 20":                {},
		"-":                        nil,
	} {
		_, got := p.columns()
		require.Equal(t, loop, got)
	}
}

// A name stands for a stream of the folder, for a program, or for both.
func TestChoose(t *testing.T) {
	for want, names := range map[string][]string{
		"flux":                         {"flux"},
		"unkind/dapr":                  {"dapr"},
		"gatekeeper unkind/gatekeeper": {"gatekeeper"},
		"flux unkind/gatekeeper":       {"unkind/gatekeeper", "flux"},
		"gatekeeper":                   {"streams/gatekeeper"},
	} {
		chosen, err := choose(names)
		require.NoError(t, err)
		require.Equal(t, strings.Fields(want), namesOf(chosen))
	}
	chosen, err := choose([]string{"unkind"})
	require.NoError(t, err)
	require.Len(t, chosen, 15)
	chosen, err = choose([]string{"streams"})
	require.NoError(t, err)
	require.ElementsMatch(t, corpora.Applied(), namesOf(chosen))
	_, err = choose([]string{"flux", "fluxx"})
	require.EqualError(t, err, `no stream is called "fluxx"`)
}

func namesOf(streams []stream) []string {
	var names []string
	for _, s := range streams {
		names = append(names, s.name)
	}
	return names
}

// A stream that is missing does not keep the others from being tried.
func TestMissingStreams(t *testing.T) {
	chosen, err := choose([]string{"flux", "jobset"})
	require.NoError(t, err)
	rows, err := (&trial{folder: t.TempDir(), progress: t.Output()}).all(t.Context(), chosen)
	require.Empty(t, rows)
	require.ErrorContains(t, err, "flux.yaml")
	require.ErrorContains(t, err, "jobset.yaml")
}

// Helm hooks that do not run on an install, or are deleted afterwards, are not there in the
// end, nor are Jobs that are deleted when they are finished.
func TestKept(t *testing.T) {
	kept := kept([]*unstructured.Unstructured{
		annotated(nil),
		annotated(map[string]any{"helm.sh/hook": "pre-install,pre-upgrade"}),
		annotated(map[string]any{"helm.sh/hook": "post-install", "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded"}),
		annotated(map[string]any{"helm.sh/hook": "pre-delete"}),
		{Object: map[string]any{"spec": map[string]any{"ttlSecondsAfterFinished": int64(0)}}},
	})
	require.Len(t, kept, 2)
}

func annotated(annotations map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"annotations": annotations}}}
}
