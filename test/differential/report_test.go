package differential

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

// report counts the results of the two tools.
type report struct {
	rows rows
	mu   sync.Mutex

	objects, steps, equal, refused int
	explained                      map[string]int // by row
	failed                         []*chain       // with differences that no row explains
	resent                         int            // repetitions that were sent, and changed nothing
}

func newReport(rows rows, objects int) *report {
	return &report{rows: rows, objects: objects, explained: map[string]int{}}
}

// note counts a step of a chain, and returns the differences that no row explains.
func (r *report) note(c *chain, differences []difference, refusedByBoth bool) []difference {
	r.mu.Lock()
	defer r.mu.Unlock()
	used := map[string]bool{}
	var unexplained []difference
	for _, d := range differences {
		if row := r.rows.explain(c, d); row != "" {
			used[row] = true
		} else {
			unexplained = append(unexplained, d)
		}
	}
	r.steps++
	for row := range used {
		r.explained[row]++
	}
	switch {
	case len(unexplained) > 0:
		r.failed = append(r.failed, c)
	case refusedByBoth:
		r.refused++
	case len(used) == 0:
		r.equal++
	}
	return unexplained
}

// sentAgain counts a request that changed nothing.
func (r *report) sentAgain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resent++
}

// shrunk is the number of differences that are made smaller: more of them rarely show more.
const shrunk = 10

// print prints the summary, and fails the test if a difference has no row.
func (r *report) print(t *testing.T, p pair, seed int) {
	t.Helper()
	for i, c := range r.failed {
		if i < shrunk {
			c = p.shrink(t.Context(), r.rows, c)
		}
		t.Errorf("no row of docs/apply.md explains a difference:\n%s", c)
	}
	t.Logf("ORDAPPLY_SEED=%d: %s", seed, r)
}

// String is the summary.
func (r *report) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out strings.Builder
	fmt.Fprintf(&out, "%d objects, %d applies (creations, edits and repetitions): %d equal, %d refused by both, %d different without a row",
		r.objects, r.steps, r.equal, r.refused, len(r.failed))
	if r.resent > 0 {
		fmt.Fprintf(&out, "\n%6d repetitions that were sent again and changed nothing", r.resent)
	}
	for _, row := range slices.Sorted(maps.Keys(r.explained)) {
		fmt.Fprintf(&out, "\n%6d different by row `%s`", r.explained[row], row)
	}
	return out.String()
}

// String returns the object's steps, and the differences.
func (c *chain) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", idOf(c.wanted))
	for _, d := range c.found {
		fmt.Fprintf(&out, "  %s\n", d)
	}
	for i, s := range append(slices.Clone(c.past), step{manifest: c.wanted}) {
		switch {
		case s.write != nil:
			fmt.Fprintf(&out, "# %d: another manager's %s: %s\n", i+1, s.write.kind, s.write.body)
		case i > 0 && reflect.DeepEqual(s.manifest, c.past[i-1].manifest):
			fmt.Fprintf(&out, "# %d: apply it again\n", i+1)
		default:
			fmt.Fprintf(&out, "# %d: apply\n%s", i+1, text(s.manifest))
		}
	}
	return out.String()
}
