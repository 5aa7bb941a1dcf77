package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	applyevent "github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

func stateNamed(name string) applyevent.State { return applyevent.State(name) }

var (
	namespace = object.ID{Kind: "Namespace", Name: "shop"}
	web       = object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	late      = object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "late"}
)

func plan() *ordering.Plan {
	return &ordering.Plan{
		Steps: []ordering.Step{{ID: namespace}, {ID: web, Wave: 1, Layer: "shop/web"}, {ID: late, Wave: 2, Layer: "shop/rest"}},
		Waves: []ordering.Wave{{Name: "prerequisites"}, {Name: "web"}, {Name: "rest"}},
		Notes: []string{"a remark"},
	}
}

// The exact output of a failed run.
func TestAFailedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := NewLog(&out, RunStart{Server: "https://here:6443", Context: "shop", Schedule: "waves", Origin: Origin{Command: "apply", SetName: SetName{"shop", "prod"}, Commit: "8f94139c", Message: "open the shop"}})
		run := track.New(plan(), time.Now())
		l.Begin(run)
		l.LostOrder(errors.New("2 objects of the stream lost order shop"))
		l.Revision(3, "ci:deployer")
		event := func(e applyevent.Event) { e.Time = time.Now(); l.Event(run.Take(e)) }
		event(applyevent.Event{Wave: 0, State: applyevent.Applying})
		event(applyevent.Event{ID: namespace, Op: applyevent.OpApply, State: applyevent.Applying})
		time.Sleep(250 * time.Millisecond)
		event(applyevent.Event{ID: namespace, Op: applyevent.OpWait, State: applyevent.Ready})
		event(applyevent.Event{Wave: 0, State: applyevent.Ready, Detail: "250ms"})
		event(applyevent.Event{Wave: 1, State: applyevent.Applying})
		time.Sleep(100 * time.Millisecond)
		event(applyevent.Event{ID: web, Layer: "shop/web", Wave: 1, Op: applyevent.OpApply, State: applyevent.Applying})
		time.Sleep(time.Second)
		event(applyevent.Event{ID: web, Layer: "shop/web", Wave: 1, Op: applyevent.OpWait, State: applyevent.Waiting, Detail: "Available: 0/1 \x1b[31m\u009b"})
		time.Sleep(time.Second)
		failure := &applyevent.Error{Wave: "wave 2/3 (web)", Op: applyevent.OpWait, ID: web, Err: errors.New("it crashed"), Diagnosis: &applyevent.Diagnosis{
			Of: web, Blocks: []object.ID{late},
			Findings: []applyevent.Finding{{About: web, Text: "container c: CrashLoopBackOff, exit code 1", Log: []string{"no route to db"}}},
		}}
		event(applyevent.Event{ID: web, Layer: "shop/web", Wave: 1, Op: applyevent.OpWait, State: applyevent.TimedOut, Detail: "it crashed", Err: failure})
		event(applyevent.Event{ID: late, Layer: "shop/rest", Wave: 2, Op: applyevent.OpApply, State: applyevent.NotStarted})
		l.End(Outcome{
			Summary:  applyevent.Summary{Took: 2250 * time.Millisecond, Results: []applyevent.Result{{State: applyevent.Ready}, {State: applyevent.TimedOut}, {State: applyevent.NotStarted}}},
			Warnings: []string{"v1beta1 is deprecated"}, Err: errors.Join(failure, applyevent.ErrInterrupted), ExitCode: 130, State: "interrupted",
		})
		compare(t, "failed.jsonl", out.Bytes())
	})
}

// A run that failed and rolled back is one run; its exact output.
func TestARollback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := NewLog(&out, RunStart{Server: "https://here:6443", Schedule: "waves"})
		run := track.New(plan(), time.Now())
		l.Begin(run)
		event := func(e applyevent.Event) { e.Time = time.Now(); l.Event(run.Take(e)) }
		fails := func(wave int, words string) error {
			err := &applyevent.Error{Wave: "a wave", Op: applyevent.OpWait, ID: web, Err: errors.New(words)}
			event(applyevent.Event{Wave: wave, State: applyevent.Applying})
			event(applyevent.Event{ID: web, Layer: "shop/web", Wave: wave, Op: applyevent.OpWait, State: applyevent.TimedOut, Detail: words, Err: err})
			return err
		}
		failure := fails(1, "it crashed")
		time.Sleep(time.Second)
		run = track.New(&ordering.Plan{Steps: []ordering.Step{{ID: web, Layer: "shop/old"}}, Waves: []ordering.Wave{{Name: "old"}}, Notes: []string{"as it was"}}, time.Now())
		l.RollBack(4, run)
		again := fails(0, "it crashes still")
		l.End(Outcome{
			Summary: applyevent.Summary{Took: time.Second, Results: []applyevent.Result{{State: applyevent.TimedOut}}}, Err: failure, ExitCode: 3, State: "timedOut",
			Rollback: &Rollback{Revision: 4, Summary: applyevent.Summary{Took: 2 * time.Second, Results: []applyevent.Result{{State: applyevent.TimedOut}}}, Err: errors.Join(errors.New("the rollback failed"), again), State: "timedOut"},
		})
		compare(t, "rollback.jsonl", out.Bytes())
	})
}

// A run that could not start has its errors and a last line.
func TestARunThatDidNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := NewLog(&out, RunStart{})
		l.End(Outcome{Err: errors.Join(errors.New("app.yaml: no kind"), fmt.Errorf("order.yaml is refused:\n%w", errors.Join(errors.New("a"), errors.New("b")))), ExitCode: 1, State: "failed"})
		compare(t, "not_begun.jsonl", out.Bytes())
	})
}

func compare(t *testing.T, name string, lines []byte) {
	t.Helper()
	golden(t, filepath.Join("testdata", name), func(string) string { return string(lines) })
	checkLines(t, lines)
}

// checkLines validates every line against the schema in docs/ and against its
// type, without unknown fields.
func checkLines(t *testing.T, lines []byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "events.schema.json"))
	require.NoError(t, err)
	var schema spec.Schema
	require.NoError(t, json.Unmarshal(text, &schema))
	validator := validate.NewSchemaValidator(&schema, nil, "", strfmt.Default)
	types := map[string]reflect.Type{}
	for _, d := range documented() {
		types[d.name] = reflect.TypeOf(d.line)
	}
	for line := range bytes.Lines(lines) {
		var loose map[string]any
		require.NoError(t, json.Unmarshal(line, &loose))
		require.NoError(t, validator.Validate(loose).AsError(), "%s", line)
		strict := json.NewDecoder(bytes.NewReader(line))
		strict.DisallowUnknownFields()
		require.Contains(t, types, loose["type"])
		require.NoError(t, strict.Decode(reflect.New(types[loose["type"].(string)]).Interface()), "%s", line)
	}
	bad := map[string]any{"version": 1, "type": "runEnd", "timestamp": "2000-01-01T00:00:00Z", "state": "happy", "exitCode": 0, "seconds": 0, "counts": map[string]any{}}
	require.Error(t, validator.Validate(bad).AsError(), "the schema holds nothing back")
}

// A line has the health of the object, and the last line the number of
// resources that are only assumed ready.
func TestHealthOfResources(t *testing.T) {
	var out bytes.Buffer
	id := object.ID{Kind: "Store", Name: "main"}
	plan := &ordering.Plan{Steps: []ordering.Step{{ID: id}}, Waves: make([]ordering.Wave, 1)}
	log := NewLog(&out, RunStart{}) // the grades 5 and 1 are Degraded and Healthy
	run := track.New(plan, time.Now())
	log.Begin(run)
	log.Event(run.Take(applyevent.Event{ID: id, State: applyevent.Waiting, Op: applyevent.OpWait, Health: 5, Detail: "it is dark"}))
	log.Event(run.Take(applyevent.Event{ID: id, State: applyevent.Ready, Op: applyevent.OpWait, Health: 1, Assumed: true}))
	log.End(Outcome{State: "done", Summary: applyevent.Summary{Results: []applyevent.Result{{ID: id, State: applyevent.Ready, Assumed: true}}}})
	require.Contains(t, out.String(), `"health":"Degraded","message":"it is dark"`)
	require.Contains(t, out.String(), `"assumed":true,"health":"Healthy"`)
	require.Contains(t, out.String(), `"assumed":1`)
}
