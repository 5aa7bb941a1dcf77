package differential

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/activity"
)

const (
	batchSize = 64
	workers   = 2 // batches at a time; each has a run of both tools
)

// all reports whether the whole comparison was asked for: make differential.
func all() bool { return os.Getenv("ORDAPPLY_DIFFERENTIAL") == "all" }

// number returns the value of an environment variable.
func number(t testing.TB, variable string, otherwise int) int {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		return otherwise
	}
	n, err := strconv.Atoi(value)
	require.NoError(t, err, variable)
	return n
}

// Random objects: ordapply and kubectl store the same.
func TestRandomObjects(t *testing.T) {
	rows := readRows(t)
	p := startPair(t)
	p.prepare(t)
	objects, seed := 128, number(t, "ORDAPPLY_SEED", 1)
	if all() {
		objects = number(t, "ORDAPPLY_OBJECTS", 2560)
	}
	r := newReport(rows, objects)
	documents := kinds(t)
	activity.Each((objects+batchSize-1)/batchSize, workers, func(n int) {
		random := rand.New(rand.NewPCG(uint64(seed), uint64(n)))
		first := n * batchSize
		b := &batch{pair: p, Rand: random, report: r}
		for i, drawn := range drawBatch(random, documents, first, min(batchSize, objects-first)) {
			document := documents[(first+i)%len(documents)]
			b.chains = append(b.chains, &chain{document: document, name: idOf(drawn).Name, first: copied(drawn)})
		}
		if err := b.run(t.Context()); err != nil {
			t.Error(err)
		}
	})
	r.print(t, p, seed)
}

// prepare creates the namespaces and kinds that random objects need.
func (p pair) prepare(t testing.TB) {
	t.Helper()
	crds := readObjects(t, []string{"testdata/crds.yaml"})
	objects := append([]map[string]any{namespace("differential"), namespace("differential-limits")}, crds...)
	var kinds []map[string]any
	for _, crd := range crds {
		kinds = append(kinds, definedKind(crd))
	}
	require.NoError(t, p.both(func(s *side) error {
		if err := s.create(t.Context(), objects...); err != nil {
			return err
		}
		s.awaitKinds(t.Context(), kinds...)
		return nil
	}))
}
