package sortorder

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/object"
)

// TestShadowAgreesWithBruteForce checks random lists of selectors over a small
// universe by trying every resource.
func TestShadowAgreesWithBruteForce(t *testing.T) {
	lists := 100_000
	if testing.Short() {
		lists = 5_000
	}
	random := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for n := range lists {
		world := randomWorld(random)
		c := config{Metadata: metadata{Name: "x"}, SortOrder: world.selectors(random, 1+random.IntN(8))}
		want := world.shadowed(c)
		_, problems := compile(c, nil, nil)
		var got []string
		for _, p := range problems {
			got = append(got, p.Path)
		}
		require.Equal(t, want, got, "list %d: %+v\n%v", n, c.SortOrder, problems)
		if len(want) > 0 {
			refused++
			if n%10 == 0 {
				world.requireIrreducibleCovers(t, c, want)
			}
		}
	}
	require.Greater(t, refused, lists/20, "too few lists had a fault for this to prove anything")
}

// smallWorld is a universe whose resources can be enumerated.
type smallWorld struct {
	keys      []key
	values    []string
	resources []object.Meta // all possible resources
}

func randomWorld(random *rand.Rand) smallWorld {
	pool := []key{{annotation, "a"}, {annotation, "b"}, {label, "a"}, {group, ""}, {kind, ""}, {namespace, ""}}
	random.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
	w := smallWorld{keys: pool[:1+random.IntN(3)], values: []string{"1", "2", "3"}[:1+random.IntN(3)]}
	w.resources = w.enumerate()
	return w
}

// selectors returns a random list without contradictions, which are rejected
// before shadows are checked.
func (w smallWorld) selectors(random *rand.Rand, n int) []selectorSpec {
	var out []selectorSpec
	for len(out) < n {
		spec := selectorSpec{Layer: fmt.Sprintf("l%d", len(out))}
		for _, k := range w.keys {
			if random.IntN(3) > 0 {
				w.constrain(random, &spec, k)
			}
		}
		var problems Problems
		if spec.compile("x", &problems); len(problems) == 0 {
			out = append(out, spec)
		}
	}
	if random.IntN(4) == 0 {
		out[random.IntN(len(out))] = selectorSpec{Unmatched: true, Layer: "rest"}
	}
	return out
}

func (w smallWorld) constrain(random *rand.Rand, spec *selectorSpec, k key) {
	value := w.values[random.IntN(len(w.values))]
	switch k.aspect {
	case group:
		spec.Group = &value
		return
	case kind:
		spec.Kind = &value
		return
	case namespace:
		spec.Namespace = &value
		return
	}
	r := requirement{Key: k.name, Operator: []string{"In", "NotIn", "Exists", "DoesNotExist"}[random.IntN(4)]}
	if r.Operator == "In" || r.Operator == "NotIn" {
		r.Values = w.values[:1+random.IntN(len(w.values))]
	}
	if k.aspect == annotation {
		spec.MatchExpressions = append(spec.MatchExpressions, r)
		return
	}
	if spec.LabelSelector == nil {
		spec.LabelSelector = &labelSelector{}
	}
	spec.LabelSelector.MatchExpressions = append(spec.LabelSelector.MatchExpressions, r)
}

// enumerate returns every resource: each key with each value, another one, or
// absent.
func (w smallWorld) enumerate() []object.Meta {
	out := []object.Meta{{Annotations: map[string]string{}, Labels: map[string]string{}}}
	for _, k := range w.keys {
		var next []object.Meta
		for _, m := range out {
			if k.canBeAbsent() {
				next = append(next, m)
			}
			for _, value := range append([]string{"other"}, w.values...) {
				next = append(next, with(m, k, value))
			}
		}
		out = next
	}
	return out
}

func with(m object.Meta, k key, value string) object.Meta {
	m.Annotations, m.Labels = maps.Clone(m.Annotations), maps.Clone(m.Labels)
	k.set(&m, value)
	return m
}

// TestExampleIsPlacedInItsLayer places the example of every selector of valid orders.
func TestExampleIsPlacedInItsLayer(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 2_000 {
		c := config{Metadata: metadata{Name: "x"}, SortOrder: randomWorld(random).selectors(random, 1+random.IntN(5))}
		order, problems := compile(c, nil, nil)
		if len(problems) > 0 {
			continue
		}
		for i := range c.SortOrder {
			m, ok := order.Example(i)
			require.True(t, ok)
			require.Equal(t, i, order.Place([]object.Meta{m})[0].Selector, "%+v\n%+v", c.SortOrder, m)
		}
	}
}

// matches returns the selectors of a config, each with the resources it
// matches.
func (w smallWorld) matches(c config) ([]selector, [][]bool) {
	var problems Problems
	var selectors []selector
	var matches [][]bool
	for i, spec := range c.SortOrder {
		s := spec.compile((rules{}).path(i), &problems)
		selectors = append(selectors, s)
		row := []bool{}
		for _, m := range w.resources {
			row = append(row, !s.unmatched && s.conditions.match(m))
		}
		matches = append(matches, row)
	}
	return selectors, matches
}

// shadowed returns the paths of selectors that match no resource first.
func (w smallWorld) shadowed(c config) []string {
	selectors, matches := w.matches(c)
	wins := make([]int, len(selectors))
	for r := range w.resources {
		winner := slices.IndexFunc(matches, func(row []bool) bool { return row[r] })
		if winner < 0 {
			winner = slices.IndexFunc(selectors, func(s selector) bool { return s.unmatched })
		}
		if winner >= 0 {
			wins[winner]++
		}
	}
	var out []string
	for i := range selectors {
		if wins[i] == 0 {
			out = append(out, (rules{}).path(i))
		}
	}
	return out
}

// requireIrreducibleCovers checks that the selectors named for a shadowed one match all
// its resources, and that they do not without any one of them.
func (w smallWorld) requireIrreducibleCovers(t *testing.T, c config, shadowed []string) {
	selectors, matches := w.matches(c)
	u := newUniverse(selectors)
	for i, s := range selectors {
		if !slices.Contains(shadowed, (rules{}).path(i)) {
			continue
		}
		var rivals []rival
		for j := range selectors {
			if !selectors[j].unmatched && (j < i || s.unmatched) {
				rivals = append(rivals, rival{j, u.choices(selectors[j])})
			}
		}
		target := matches[i]
		if s.unmatched {
			target = slices.Repeat([]bool{true}, len(w.resources))
		}
		f := search{u: u}
		cover := f.cover(u.within(u.choices(s)), rivals)
		require.True(t, coversAll(cover, -1, matches, target), "%+v", c.SortOrder)
		for left := range cover {
			require.False(t, coversAll(cover, left, matches, target), "%+v", c.SortOrder)
		}
	}
}

// coversAll reports whether the rivals, without the one with this index, match every
// resource of the target.
func coversAll(cover []rival, without int, matches [][]bool, target []bool) bool {
	for r := range target {
		covered := !target[r]
		for n, one := range cover {
			covered = covered || n != without && matches[one.number][r]
		}
		if !covered {
			return false
		}
	}
	return true
}

// TestShadowGivesUpHonestly uses a pigeonhole problem: "these values, all
// different" exceeds the limit and is reported as undecided.
func TestShadowGivesUpHonestly(t *testing.T) {
	order, problems := compile(config{Metadata: metadata{Name: "x"}, SortOrder: pigeons(10)}, nil, nil)
	require.Empty(t, problems)
	last := (rules{}).path(len(pigeons(10)) - 1)
	require.Equal(t, Problems{{Path: last, Message: "is too complex to decide whether earlier selectors leave it anything to match"}}, order.Warnings)

	_, problems = compile(config{Metadata: metadata{Name: "x"}, SortOrder: pigeons(6)}, nil, nil)
	require.Len(t, problems, 1, "six pigeons are within the bound")
}

// pigeons returns selectors over n keys with n-1 values each: every selector
// but the last matches resources where two keys are equal.
func pigeons(n int) []selectorSpec {
	var out []selectorSpec
	last := selectorSpec{Layer: "last"}
	holes := make([]string, n-1)
	for h := range holes {
		holes[h] = fmt.Sprintf("hole%d", h)
	}
	for i := range n {
		last.MatchExpressions = append(last.MatchExpressions, requirement{Key: fmt.Sprintf("p%d", i), Operator: "In", Values: holes})
		for j := range i {
			for _, hole := range holes {
				out = append(out, selectorSpec{
					Layer:         fmt.Sprintf("%d-%d-%s", i, j, hole),
					conditionSpec: conditionSpec{MatchAnnotations: map[string]string{fmt.Sprintf("p%d", i): hole, fmt.Sprintf("p%d", j): hole}},
				})
			}
		}
	}
	return append(out, last)
}

// BenchmarkShadow checks 200 selectors over 20 keys of 8 values each.
func BenchmarkShadow(b *testing.B) {
	for _, operators := range [][]string{{"In"}, {"In", "NotIn", "Exists", "DoesNotExist"}} {
		b.Run(fmt.Sprintf("%d-operators", len(operators)), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			var took []time.Duration
			for b.Loop() {
				b.StopTimer()
				c := config{Metadata: metadata{Name: "x"}, SortOrder: wideSelectors(random, operators)}
				b.StartTimer()
				start := time.Now()
				compile(c, nil, nil)
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
		})
	}
}

func wideSelectors(random *rand.Rand, operators []string) []selectorSpec {
	var out []selectorSpec
	for i := range 200 {
		spec := selectorSpec{Layer: fmt.Sprintf("l%d", i)}
		for range 2 + random.IntN(3) {
			r := requirement{Key: fmt.Sprintf("k%d", random.IntN(20)), Operator: operators[random.IntN(len(operators))]}
			if r.Operator == "In" || r.Operator == "NotIn" {
				for range 1 + random.IntN(2) {
					r.Values = append(r.Values, fmt.Sprintf("v%d", random.IntN(8)))
				}
			}
			spec.MatchExpressions = append(spec.MatchExpressions, r)
		}
		var problems Problems
		if spec.compile("x", &problems); len(problems) == 0 {
			out = append(out, spec)
		}
	}
	return out
}
