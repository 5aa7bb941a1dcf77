package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/manifest"
	"github.com/ordapply/ordapply/sortorder"
	"github.com/ordapply/ordapply/test/seeds"
)

// layouts returns layouts of one ConfigMap.
func layouts() map[string]string {
	return map[string]string{
		"block":    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: \"%s\"",
		"indented": "  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: %s}",
		"flow":     "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}",
		"JSON":     `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%s"}}`,
		"tabs":     "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"ConfigMap\",\n\t\"metadata\": {\"name\": \"%s\"}\n}",
		"tagged":   "!!map {apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}",
		"quoted":   "\"apiVersion\": v1\nkind: ConfigMap\nmetadata: {name: %s}",
		"list":     "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}]}",
	}
}

// gaps returns text between two objects, in valid streams and invalid ones.
func gaps() []string {
	return []string{
		"\n---\n", "\n---\r\n", "\n--- # next\n", "\n---\n# next\n", "\n...\n", "\n... # end\n", "\n...\n---\n", "\n---\n---\n",
		"\n", "", " ", "\n\n", "\r\n", "\r", "\r---\r", "\n---\r", "\u2028---\u2028", "\u0085...\u0085", "\n# next\n", "\n# next\r", " # next\r",
		"\n--- ", "\n ---\n", "\n---x\n", "\nnull\n---\n", "\n---\nnull # none\n", " xyz\n", ",", "\n,\n", "\x00", "\ufeff", "\n\ufeff", "\n%YAML 1.1\n---\n",
	}
}

// No document is lost: either both objects are read, or there is an error; and
// ordapply and the function agree.
func TestNoDocumentIsLost(t *testing.T) {
	good, tried := 0, 0
	for firstLayout, first := range layouts() {
		for secondLayout, second := range layouts() {
			if firstLayout == "block" && secondLayout == "indented" {
				continue // without a separator the second's keys are the first's metadata
			}
			for _, gap := range gaps() {
				for _, before := range []string{"", "# a comment\n", "---\n", "# a comment\r", "null # none\n", "...\n"} {
					stream := before + fmt.Sprintf(first, "one") + gap + fmt.Sprintf(second, "two") + "\n"
					if tried++; testing.Short() && tried%10 != 0 {
						continue
					}
					what := fmt.Sprintf("%s, %s: %q", firstLayout, secondLayout, stream)
					if requireBoth(t, what, stream) {
						good++
					}
				}
			}
		}
	}
	require.Greater(t, good, int(seeds.UpTo(1000)))
}

// FuzzNoDocumentIsLost puts any text between two objects in JSON, which only a
// comment can hide.
func FuzzNoDocumentIsLost(f *testing.F) {
	for _, gap := range gaps() {
		f.Add(gap)
	}
	json := layouts()["JSON"]
	f.Fuzz(func(t *testing.T, gap string) {
		if !strings.ContainsAny(gap, "#|>'\"{[:?!&") {
			requireBoth(t, fmt.Sprintf("%q", gap), fmt.Sprintf(json, "one")+gap+fmt.Sprintf(json, "two"))
		}
	})
}

// requireBoth returns whether the stream could be read.
func requireBoth(t *testing.T, what, stream string) bool {
	read, err := manifest.Read("STDIN", strings.NewReader(stream))
	if err == nil {
		names := make([]string, 0, 2)
		for _, m := range read {
			names = append(names, m.GetName())
		}
		require.Equal(t, []string{"one", "two"}, names, what)
	}
	if err != nil && strings.Contains(err.Error(), "already set in map") {
		return false // one mapping with a duplicate key, which the function keeps
	}
	if out := (fn.Processor{Order: sortorder.Default()}).Run([]byte(stream)); !out.Findings.Failed() {
		names := make([]string, 0, 2)
		for _, meta := range out.Metas() {
			names = append(names, meta.Name)
		}
		require.Equal(t, []string{"one", "two"}, names, "the function: "+what)
	}
	return err == nil
}
