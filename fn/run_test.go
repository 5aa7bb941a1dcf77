package fn_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/sortorder"
)

// TestRun runs testdata/run/*.txtar:
//
//	-- order --     the SortOrder without its header; without it, functionConfig's
//	-- in --        the input
//	-- want --      the output; absent if there must be none
//	-- findings --  the findings, one a line
//
// Every successful output is run through the function again, which must not
// change it.
func TestRun(t *testing.T) {
	files, err := filepath.Glob("testdata/run/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			parts := map[string]string{}
			for _, f := range archive.Files {
				parts[f.Name] = string(f.Data)
			}
			function := functionOf(t, parts)
			out := function.Run([]byte(parts["in"]))
			if os.Getenv("ORDAPPLY_GOLDEN") != "" {
				rewrite(t, file, archive, out)
				return
			}
			require.Equal(t, parts["want"], string(out.Stream()))
			require.Equal(t, parts["findings"], out.Findings.Lines())
			if !out.Findings.Failed() {
				require.Equal(t, parts["want"], string(function.Run(out.Stream()).Stream()), "a second run must change nothing")
			}
		})
	}
}

func functionOf(t *testing.T, parts map[string]string) fn.Processor {
	body, ok := parts["order"]
	if !ok {
		return fn.Processor{}
	}
	order, err := sortorder.Parse([]byte("apiVersion: ordapply.dev/v1alpha1\nkind: SortOrder\nmetadata: {name: platform}\n" + body))
	require.NoError(t, err)
	return fn.Processor{Order: order}
}

// rewrite updates the case with the output.
func rewrite(t *testing.T, file string, archive *txtar.Archive, out fn.Output) {
	kept := archive.Files[:0]
	for _, f := range archive.Files {
		if f.Name == "order" || f.Name == "in" {
			kept = append(kept, f)
		}
	}
	for _, part := range []txtar.File{{Name: "want", Data: out.Stream()}, {Name: "findings", Data: []byte(out.Findings.Lines())}} {
		if len(part.Data) > 0 {
			kept = append(kept, part)
		}
	}
	archive.Files = kept
	require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o644))
}
