package health

import (
	"encoding/csv"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/internal/judge/status"
)

// TestCollection measures verdicts on a collection of real statuses, Healthy
// against all others, and prints a table. The collection is not part of this
// repository; ORDAPPLY_HEALTH_CASES names its folder.
//
// The projects are split into two halves: develop the generic reading with half
// A (ORDAPPLY_HEALTH_SHOW=generic prints its errors) and check with half B that
// a change generalizes.
func TestCollection(t *testing.T) {
	samples := collection(t)
	kstatusAlone := measure(t, samples, "kstatus", kstatus)
	genericAlone := measure(t, samples, "generic", afterGrace(genericReading))
	ladder := measure(t, samples, "ladder", afterGrace(Assess))

	require.Less(t, genericAlone.wronglyReady(), 6.0)
	require.Less(t, genericAlone.wronglyNotReady(), 3.0)
	require.Less(t, ladder.wronglyReady(), 4.0)
	require.Less(t, ladder.wronglyNotReady(), 2.0)
	require.Less(t, ladder.wronglyReady(), kstatusAlone.wronglyReady())
}

// afterGrace returns an assessment function that applies AfterGrace.
func afterGrace(read func(*unstructured.Unstructured) Assessment) func(*unstructured.Unstructured) Assessment {
	return func(obj *unstructured.Unstructured) Assessment {
		a := read(obj)
		if a.Inconclusive {
			return (&Assessor{}).AfterGrace(a)
		}
		return a
	}
}

// TestDocumentedGeneric measures the generic reading alone on the documented
// statuses (testdata/documented), without the rules for kinds that precede it.
func TestDocumentedGeneric(t *testing.T) {
	areas, err := filepath.Glob("testdata/documented/*.txtar")
	require.NoError(t, err)
	var all tally
	for _, path := range areas {
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		for _, section := range archive.Files {
			expected := map[string]string{"ready": "Healthy", "assumed": "Healthy"}[section.Name]
			for line := range strings.Lines(string(section.Data)) {
				obj := documentedObject(t, line)
				if status.IsEmpty(obj.Object["status"]) {
					continue // only a rule, or time, can decide these
				}
				a := afterGrace(genericReading)(obj)
				if all.add(expected, a.Verdict) && os.Getenv("ORDAPPLY_HEALTH_SHOW") == "documented" {
					t.Logf("want %s, got %s: %s\n\t%s", section.Name, a.Verdict, a.Reason, line)
				}
			}
		}
	}
	t.Logf("documented  wrongly ready %3d of %d, %4.1f %%   wrongly not ready %3d of %d, %4.1f %%",
		all.ready, all.others, all.wronglyReady(), all.notReady, all.healthy, all.wronglyNotReady())
	require.Less(t, all.wronglyReady(), 3.0)
	require.Less(t, all.wronglyNotReady(), 3.0)
}

// documentedObject parses a line of testdata/documented, as
// TestDocumentedStatuses does.
func documentedObject(t *testing.T, line string) *unstructured.Unstructured {
	apiVersion, rest, _ := strings.Cut(line, " ")
	kind, fields, _ := strings.Cut(rest, " ")
	data, err := yaml.YAMLToJSON([]byte("{apiVersion: " + apiVersion + ", kind: " + kind + ", " + strings.TrimPrefix(fields, "{")))
	require.NoError(t, err, line)
	obj := &unstructured.Unstructured{}
	require.NoError(t, obj.UnmarshalJSON(data), line)
	metadata := map[string]any{"name": "main", "generation": int64(1)}
	for _, key := range []string{"generation", "annotations"} {
		if value, ok := obj.Object[key]; ok {
			metadata[key] = value
			delete(obj.Object, key)
		}
	}
	obj.Object["metadata"] = metadata
	return obj
}

// genericReading assesses without rules for kinds.
func genericReading(obj *unstructured.Unstructured) Assessment {
	if obj.GetDeletionTimestamp() != nil {
		return Assessment{Verdict: Deleting}
	}
	if a, ok := (&Assessor{}).generic(obj, subjectOf(obj)); ok {
		return a
	}
	return neutral(obj)
}

type sample struct {
	project, name, expected, message string
	obj                              *unstructured.Unstructured
}

// isSuspended reports whether the project calls the object paused, whatever its
// health.
func (s sample) isSuspended() bool {
	return s.expected == "Suspended" || s.expected == "Healthy" && strings.Contains(strings.ToLower(s.message), "paused")
}

func collection(t *testing.T) []sample {
	root := os.Getenv("ORDAPPLY_HEALTH_CASES")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "health-cases")
	}
	list, err := os.Open(filepath.Join(root, "cases.tsv"))
	if err != nil {
		t.Skipf("the collection of statuses is not at %s", root)
	}
	defer func() { require.NoError(t, list.Close()) }()
	table := csv.NewReader(list)
	table.Comma, table.LazyQuotes = '\t', true
	rows, err := table.ReadAll()
	require.NoError(t, err)
	var samples []sample
	for _, row := range rows[1:] {
		data, err := os.ReadFile(filepath.Join(root, row[0], row[1]))
		require.NoError(t, err)
		data, err = yaml.YAMLToJSON(data)
		require.NoError(t, err)
		obj := &unstructured.Unstructured{}
		require.NoError(t, obj.UnmarshalJSON(data), row)
		project, _, _ := strings.Cut(row[0], "/")
		samples = append(samples, sample{project, row[0] + " " + row[1], row[4], row[5], obj})
	}
	return samples
}

// half assigns a project to a half by a hash of its name.
func half(project string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(project))
	if h.Sum32()%2 == 1 {
		return "A"
	}
	return "B"
}

// tally counts verdicts that differ from the projects' expectations.
type tally struct {
	healthy, notReady int // expected Healthy; of these, not ready
	others, ready     int // expected anything else; of these, ready
	suspended         int // paused or suspended by both: either verdict is acceptable
}

func (c tally) wronglyReady() float64    { return 100 * float64(c.ready) / float64(c.others) }
func (c tally) wronglyNotReady() float64 { return 100 * float64(c.notReady) / float64(c.healthy) }

func (c *tally) add(expected string, verdict Verdict) (wrong bool) {
	if expected == "Healthy" {
		c.healthy++
		if wrong = verdict != Ready; wrong {
			c.notReady++
		}
		return wrong
	}
	c.others++
	if wrong = verdict == Ready; wrong {
		c.ready++
	}
	return wrong
}

func measure(t *testing.T, samples []sample, name string, assess func(*unstructured.Unstructured) Assessment) tally {
	var all tally
	halves := map[string]*tally{"A": {}, "B": {}}
	for _, s := range samples {
		a := assess(s.obj)
		if s.isSuspended() && a.Grade() == GradeSuspended {
			all.suspended++
			halves[half(s.project)].suspended++
			continue
		}
		all.add(s.expected, a.Verdict)
		if halves[half(s.project)].add(s.expected, a.Verdict) && half(s.project) == "A" && os.Getenv("ORDAPPLY_HEALTH_SHOW") == name {
			t.Logf("%s\n\texpected %s %q\n\tgot %s %s (%s)", s.name, s.expected, s.message, a.Verdict, a.Reason, a.Rule)
		}
	}
	for _, row := range []struct {
		half string
		tally
	}{{"A", *halves["A"]}, {"B", *halves["B"]}, {"both", all}} {
		t.Logf("%-8s %-4s  wrongly ready %3d of %d, %4.1f %%   wrongly not ready %3d of %d, %4.1f %%   suspended by both %d", name, row.half,
			row.ready, row.others, row.wronglyReady(), row.notReady, row.healthy, row.wronglyNotReady(), row.suspended)
	}
	return all
}
