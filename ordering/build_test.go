package ordering_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/test/plancase"
)

// Each testdata/*.txtar tests one rule: stream.yaml is the input, with optional
// options.yaml; "plan", "needs" or "error" is the expected output. "needs" is
// the plan as a scheduler reads it. `make golden` updates the outputs.
func TestBuild(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			require.NoError(t, err)
			last := len(archive.Files) - 1
			require.GreaterOrEqual(t, last, 1)
			resources, options := plancase.Input(t, archive)
			name, got := outcome(resources, options, archive.Files[last].Name)
			if os.Getenv("ORDAPPLY_GOLDEN") != "" {
				archive.Files[last] = txtar.File{Name: name, Data: []byte(got)}
				require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
			}
			require.Equal(t, archive.Files[last].Name, name, got)
			require.Equal(t, string(archive.Files[last].Data), got)
			for range 20 {
				rand.Shuffle(len(resources), func(i, j int) { resources[i], resources[j] = resources[j], resources[i] })
				_, again := outcome(resources, options, name)
				require.Equal(t, got, again, "the order of the stream must not matter")
			}
		})
	}
}

// outcome returns the result of Build as text, and its kind: the plan, its
// needs if want says so, or the error.
func outcome(resources []ordering.Resource, options ordering.Options, want string) (name, text string) {
	plan, err := planner.Build(resources, options)
	if err == nil {
		err = plan.Err()
	}
	if err != nil {
		return "error", err.Error() + "\n"
	}
	if want == "needs" {
		return want, needs(plan)
	}
	var b bytes.Buffer
	if err := plan.WriteText(&b); err != nil {
		return "error", err.Error()
	}
	return "plan", b.String()
}

func needs(plan *ordering.Plan) string {
	var b strings.Builder
	for _, s := range plan.Steps {
		fmt.Fprintf(&b, "%s: wave %d, gate %s", s.ID, s.Wave+1, s.Gate)
		if s.ReadyBy != s.Wave {
			fmt.Fprintf(&b, ", ready by wave %d", s.ReadyBy+1)
		}
		if s.Timeout > 0 {
			fmt.Fprintf(&b, ", timeout %s", s.Timeout)
		}
		for _, l := range s.Layers {
			fmt.Fprintf(&b, ", in %s", plan.Layers[l].Name)
		}
		b.WriteString("\n")
		writeNeeds(&b, plan, s.Needs, s.After)
		for _, n := range s.External {
			fmt.Fprintf(&b, "  external %s, %s (%s)\n", n.ID, n.Gate, n.Why)
		}
	}
	for _, l := range plan.Layers {
		fmt.Fprintf(&b, "layer %s: %s, gate %s", l.Name, l.Kind, l.Gate)
		if l.Within >= 0 {
			fmt.Fprintf(&b, ", within %s", plan.Layers[l.Within].Name)
		}
		if l.Timeout > 0 {
			fmt.Fprintf(&b, ", timeout %s", l.Timeout)
		}
		b.WriteString("\n")
		writeNeeds(&b, plan, nil, l.After)
	}
	for _, d := range plan.Dropped {
		fmt.Fprintf(&b, "dropped %s -> %s (%s)", d.Need.ID, d.ID, d.Need.Why)
		for _, e := range d.Because {
			fmt.Fprintf(&b, "; %s", e)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func writeNeeds(b *strings.Builder, plan *ordering.Plan, needs []ordering.Need, after []ordering.Barrier) {
	for _, n := range needs {
		kind := "needs"
		if n.Hard {
			kind = "hard"
		}
		fmt.Fprintf(b, "  %s %s, %s (%s)\n", kind, n.ID, n.Gate, n.Why.Located())
	}
	for _, a := range after {
		fmt.Fprintf(b, "  after %s (%s)\n", plan.Layers[a.Layer].Name, a.Why)
	}
}
