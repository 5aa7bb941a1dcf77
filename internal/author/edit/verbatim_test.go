package edit

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/corpora"
	"github.com/ordapply/ordapply/test/yamlsuite"
)

// FuzzVerbatim checks requireVerbatim on arbitrary bytes.
func FuzzVerbatim(f *testing.F) {
	for _, seed := range []string{
		"apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n---\n# comment\n---\nkind:  Job # x\napiVersion: batch/v1\nmetadata:\n    name: 'b'\n    annotations:\n        a: b\n",
		"{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret}]}\n---\n{\"apiVersion\":\"v1\",\"kind\":\"Secret\"}{\"apiVersion\":\"v1\",\"kind\":\"Secret\"}",
		"apiVersion: v1\nkind: Secret\nmetadata: &m\n  name: a\nx: *m\n...\n---\r\napiVersion: v1\r\nkind: Secret\r\nmetadata:\r\n  annotations:\r\n    ordapply.dev/wave: \"1\"\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) { requireVerbatim(t, in) })
}

// TestVerbatimOnCorpora checks requireVerbatim on real streams, whose documents are all
// edited as text.
func TestVerbatimOnCorpora(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpora.Need(t), "*.yaml"))
	require.NoError(t, err)
	for _, file := range files {
		in, err := os.ReadFile(file)
		require.NoError(t, err)
		requireVerbatim(t, in)
		stream, err := Read(in)
		require.NoError(t, err)
		require.False(t, slices.ContainsFunc(stream.documents, func(d document) bool { return d.reprinted }), file)
	}
}

// TestVerbatimOnTheYAMLSuite checks requireVerbatim on the YAML test suite. All documents keep
// their text as long as they do not change.
func TestVerbatimOnTheYAMLSuite(t *testing.T) {
	kept := 0
	for name, stream := range yamlsuite.Streams() {
		requireVerbatim(t, []byte(stream))
		in, err := Decode([]byte(stream))
		require.NoError(t, err)
		read, err := Read(in)
		if err != nil {
			continue // not a resource, or not YAML
		}
		for _, d := range read.documents {
			unchanged, err := d.changed(Change{})
			require.NoError(t, err)
			for _, piece := range unchanged {
				require.Contains(t, string(in), string(piece), name)
			}
			kept++
		}
	}
	require.Greater(t, kept, 1000)
}

// requireVerbatim stamps every document of a stream and requires that those edited as text
// have all lines of the input, in order, and the lines of the stamps.
func requireVerbatim(t *testing.T, in []byte) {
	in, err := Decode(in)
	if err != nil {
		return
	}
	stream, err := Read(in)
	if err != nil {
		return
	}
	c := Change{Set: map[string]string{"ordapply.dev/layer": "shop/web", "ordapply.dev/wave": "7"}}
	for i, d := range stream.documents {
		unchanged, err := d.changed(Change{})
		require.NoError(t, err)
		if bytes.HasSuffix(d.text, []byte("\n")) {
			require.Equal(t, string(d.before)+string(d.text), string(unchanged.Joined()))
		}
		if !stream.exploded && !bytes.HasPrefix(bytes.TrimSpace(d.text), []byte("{")) && !d.reprinted {
			require.Contains(t, string(in), string(d.text), "the text of a document is part of the input")
		}
		if d.reprinted {
			continue
		}
		after, err := d.changed(c)
		require.NoError(t, err)
		before := string(d.before) + string(d.text)
		require.Equal(t, bare(before, false), bare(string(after.Joined()), d.annotations.to == 0), "%s", stream.metas[i].ID)
	}
}

// bare returns a text without the lines of stamps, and without the first line that only
// holds the key annotations if a change added it.
func bare(text string, added bool) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		word := strings.TrimLeft(line, " ")
		switch {
		case strings.HasPrefix(word, "ordapply.dev/layer:"), strings.HasPrefix(word, "ordapply.dev/wave:"):
		case added && word == "annotations:\n":
			added = false
		default:
			out.WriteString(line)
		}
	}
	return out.String()
}
