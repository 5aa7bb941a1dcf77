package tree

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/test/corpora"
)

// A list that is printed in parts has the text that the encoder prints at once: real streams,
// and items with every style and comment.
func TestPartsAreTheWhole(t *testing.T) {
	lists := map[string]string{}
	var made strings.Builder
	for i := range 2*partSize + 1 {
		fmt.Fprintf(&made, "# before %d\n- kind: ConfigMap # beside\n  metadata: {name: c%d}\n  # within\n  data:\n    a: |+\n      text\n\n    b: >-\n      folded\n      text\n    c: \"x\\ty\"\n    d:\n    - [1, 2]\n    -\n      - deep\n", i, i)
	}
	lists["made"] = "apiVersion: v1\nitems:\n" + made.String() + "kind: List # of all\nresults:\n- message: m\n"
	lists["indented"] = "items:\n  " + strings.ReplaceAll(strings.TrimSpace(made.String()), "\n", "\n  ") + "\n"
	lists["scalars"] = "items:\n" + strings.Repeat("- a\n- ordapply-items\n- null\n", partSize)
	if dir, err := corpora.Dir(); err == nil {
		files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
		require.NoError(t, err)
		for _, file := range files {
			stream, err := os.ReadFile(file)
			require.NoError(t, err)
			lists[filepath.Base(file)] = listOf(t, stream)
		}
	}
	for name, text := range lists {
		t.Run(name, func(t *testing.T) {
			documents, err := ParseAll([]byte(text))
			require.NoError(t, err)
			if name == "made" || name == "kube-prometheus.yaml" {
				require.NotNil(t, longList(documents[0]))
			}
			workAroundEncoder(documents[0], false)
			want, wantErr := whole(documents[0])
			parts, err := printed(documents[0])
			require.Equal(t, string(want), string(parts))
			require.Equal(t, wantErr, err)
		})
	}
}

// listOf returns the documents of a stream as the items of a list.
func listOf(t *testing.T, stream []byte) string {
	documents, err := ParseAll(stream)
	require.NoError(t, err)
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
	for _, document := range documents {
		list.Content = append(list.Content, content(document))
	}
	var out bytes.Buffer
	require.NoError(t, yaml.NewEncoder(&out).Encode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "items"}, list}}))
	return out.String()
}

// Lists that cannot be divided are printed at once.
func TestListsThatStayWhole(t *testing.T) {
	long := strings.Repeat("- a\n", partSize+1)
	for name, text := range map[string]string{
		"short":   "items:\n- a\n",
		"alias":   "x: &x 1\nitems:\n- *x\n" + long,
		"anchor":  "items: &all\n" + long,
		"flow":    "items: [" + strings.Repeat("a,", partSize) + "a]\n",
		"another": "values:\n" + long,
		"no list": "items: 1\n",
		"list":    long,
	} {
		documents, err := ParseAll([]byte(text))
		require.NoError(t, err, name)
		require.Nil(t, longList(documents[0]), name)
	}
}
