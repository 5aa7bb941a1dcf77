package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// world plays the clusters of a fleet: how long a run takes, how it ends, and when its
// objects are not ready.
type world struct {
	takes     map[string]time.Duration // default: one minute
	ends      map[string]State         // default: Done
	unchanged map[string]bool
	since     map[string]time.Time
	unready   map[string]time.Duration // since the start of the test
	blind     map[string][2]time.Duration
	replaced  map[string]time.Duration // by another run, since the start of the test
	mu        sync.Mutex               // of looked
	started   time.Time
	looked    int
	log       []string
}

func (w *world) at() time.Duration { return time.Since(w.started) }

func (w *world) run(ctx context.Context, f *Fleet) Summary {
	w.started = time.Now()
	return Coordinator{
		Apply: func(ctx context.Context, c Cluster) Result {
			took, known := w.takes[c.Name]
			if !known {
				took = time.Minute
			}
			select {
			case <-time.After(took):
			case <-ctx.Done():
				time.Sleep(time.Second) // an interrupted run ends in its own time
				return Result{State: Interrupted, Err: ctx.Err()}
			}
			end := w.ends[c.Name]
			if end == "" {
				end = Done
			}
			return Result{State: end, Unchanged: w.unchanged[c.Name]}
		},
		Observe: func(_ context.Context, c Cluster) Observation {
			w.mu.Lock()
			w.looked++
			w.mu.Unlock()
			if b, is := w.blind[c.Name]; is && w.at() >= b[0] && w.at() < b[1] {
				return Observation{Err: errors.New("no answer")}
			}
			if from, is := w.unready[c.Name]; is && w.at() >= from {
				return Observation{Why: "Deployment shop/web is degraded", Revision: 7}
			}
			if from, is := w.replaced[c.Name]; is && w.at() >= from {
				return Observation{Ready: true, Revision: 8}
			}
			return Observation{Ready: true, Since: w.since[c.Name], Revision: 7}
		},
		Events: func(e Event) {
			line := fmt.Sprintf("%s %s %s", e.Time.Sub(w.started), f.Cohorts[e.Cohort].Name, e.Kind)
			if e.Cluster != "" {
				line += " " + e.Cluster
			}
			w.log = append(w.log, line)
		},
	}.Run(ctx, f)
}

// of makes a fleet of "canary: a b; rest: c d".
func of(t *testing.T, text string, adjust func(*Fleet)) *Fleet {
	t.Helper()
	f := &Fleet{}
	for part := range strings.SplitSeq(text, ";") {
		name, members, _ := strings.Cut(strings.TrimSpace(part), ":")
		c := Cohort{Name: name}
		for member := range strings.FieldsSeq(members) {
			c.Clusters = append(c.Clusters, Cluster{Name: member})
		}
		c.MaxParallel = len(c.Clusters)
		f.Cohorts = append(f.Cohorts, c)
	}
	if adjust != nil {
		adjust(f)
	}
	return f
}

func states(s Summary) string {
	var out []string
	for _, cohort := range s.Cohorts {
		var of []string
		for _, o := range cohort.Clusters {
			of = append(of, o.Cluster+" "+string(o.State))
		}
		out = append(out, fmt.Sprintf("%s %s: %s", cohort.Name, cohort.State, strings.Join(of, ", ")))
	}
	return strings.Join(out, "; ")
}

// One cohort after the other, and within one at most maxParallel at a time.
func TestCohortsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{takes: map[string]time.Duration{"a": 3 * time.Minute}}
		s := w.run(t.Context(), of(t, "canary: a b c; rest: d", func(f *Fleet) { f.Cohorts[0].MaxParallel = 2 }))
		require.Equal(t, "canary passed: a done, b done, c done; rest passed: d done", states(s))
		require.Equal(t, []string{
			"0s canary cohortOpened", "0s canary clusterStarted a", "0s canary clusterStarted b",
			"1m0s canary clusterEnded b", "1m0s canary clusterStarted c", "2m0s canary clusterEnded c",
			"3m0s canary clusterEnded a", "3m0s canary cohortEnded",
			"3m0s rest cohortOpened", "3m0s rest clusterStarted d", "4m0s rest clusterEnded d", "4m0s rest cohortEnded",
		}, w.log)
	})
}

// More failures than the budget: no more runs of the cohort start, pending runs end, and
// the next cohort does not open. Within the budget it does.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{ends: map[string]State{"a": Failed}, takes: map[string]time.Duration{"b": 2 * time.Minute}}
		s := w.run(t.Context(), of(t, "canary: a b c; rest: d", func(f *Fleet) { f.Cohorts[0].MaxParallel = 2 }))
		require.Equal(t, "canary failed: a failed, b done, c notStarted; rest notStarted: d notStarted", states(s))
		require.EqualError(t, s.Cohorts[0].Err, "1 cluster failed")
		require.Equal(t, "cohort canary failed", s.Clusters()[3].Why)
		require.Equal(t, "cohort canary failed", s.Clusters()[2].Why)
		require.Equal(t, 2*time.Minute, w.at())

		w = &world{ends: map[string]State{"a": Failed, "c": TimedOut}}
		s = w.run(t.Context(), of(t, "canary: a b; rest: c d", func(f *Fleet) { f.Cohorts[0].MaxFailures = 1 }))
		require.Equal(t, "canary passed: a failed, b done; rest failed: c timedOut, d done", states(s))
	})
}

// A pause is between cohorts, and not after the last one.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		s := w.run(t.Context(), of(t, "canary: a; rest: b", func(f *Fleet) {
			f.Cohorts[0].Pause, f.Cohorts[1].Pause = 10*time.Minute, 10*time.Minute
		}))
		require.Equal(t, "canary passed: a done; rest passed: b done", states(s))
		require.Equal(t, 12*time.Minute, w.at())
		require.Contains(t, w.log, "1m0s canary pauseBegan")
		require.Zero(t, w.looked)
	})
}

func withGate(f *Fleet) { f.Cohorts[0].Gate = 10 * time.Minute }

// The clusters of a cohort that did not fail must stay ready as long as its gate says.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		s := w.run(t.Context(), of(t, "canary: a; rest: b", withGate))
		require.Equal(t, "canary passed: a done; rest passed: b done", states(s))
		require.Equal(t, 12*time.Minute, w.at())
		require.LessOrEqual(t, w.looked, 22, "one look each 30 s")

		w = &world{unready: map[string]time.Duration{"a": 5 * time.Minute}}
		s = w.run(t.Context(), of(t, "canary: a; rest: b", withGate))
		require.Equal(t, "canary failed: a done; rest notStarted: b notStarted", states(s))
		require.EqualError(t, s.Cohorts[0].Err, "gate: a did not stay ready: Deployment shop/web is degraded")
		require.Equal(t, "cohort canary failed", s.Clusters()[1].Why)
		require.Equal(t, 5*time.Minute, w.at())
	})
}

// A gate is about the run's revision: a rollback of the canary, or another run, fails it,
// also before its first look.
func TestGateOfAnotherRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, replaced := range []time.Duration{90 * time.Second, 5 * time.Minute} {
			w := &world{takes: map[string]time.Duration{"b": 3 * time.Minute}, replaced: map[string]time.Duration{"a": replaced}}
			s := w.run(t.Context(), of(t, "canary: a b; rest: c", withGate))
			require.Equal(t, "canary failed: a done, b done; rest notStarted: c notStarted", states(s))
			var gate *GateError
			require.ErrorAs(t, s.Cohorts[0].Err, &gate)
			require.Equal(t, "a", gate.Cluster)
		}
	})
}

// An unready object at the very end of a gate fails it.
func TestGateIsLookedAtAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{unready: map[string]time.Duration{"a": 11*time.Minute - time.Millisecond}}
		s := w.run(t.Context(), of(t, "canary: a; rest: b", withGate))
		require.Equal(t, "canary failed: a done; rest notStarted: b notStarted", states(s))
	})
}

// A failed cluster is not part of the gate: within the budget it was given up.
func TestGateWithoutTheFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{ends: map[string]State{"a": Failed}, unready: map[string]time.Duration{"a": 0}}
		s := w.run(t.Context(), of(t, "canary: a b; rest: c", func(f *Fleet) { withGate(f); f.Cohorts[0].MaxFailures = 1 }))
		require.Equal(t, "canary passed: a failed, b done; rest passed: c done", states(s))
	})
}

// An API server that restarts does not fail a gate; one that stays away does, and a gate
// never passes without a look.
func TestGateOfAClusterThatCannotBeObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{blind: map[string][2]time.Duration{"a": {5 * time.Minute, 6 * time.Minute}}}
		s := w.run(t.Context(), of(t, "canary: a; rest: b", withGate))
		require.Equal(t, Passed, s.Cohorts[0].State)

		w = &world{blind: map[string][2]time.Duration{"a": {11 * time.Minute, 11*time.Minute + 10*time.Second}}}
		s = w.run(t.Context(), of(t, "canary: a; rest: b", withGate))
		require.Equal(t, Passed, s.Cohorts[0].State)
		require.Greater(t, w.at(), 12*time.Minute, "the last look was repeated")

		w = &world{blind: map[string][2]time.Duration{"a": {5 * time.Minute, time.Hour}}}
		s = w.run(t.Context(), of(t, "canary: a; rest: b", withGate))
		var gate *GateError
		require.ErrorAs(t, s.Cohorts[0].Err, &gate)
		require.Equal(t, "a", gate.Cluster)
		require.Error(t, gate.Err, "it could not be observed")
	})
}

// A repeated command watches a gate anew, whatever the history says: it was not
// watched in between. A pause without a gate counts from the history, if the run changed nothing.
func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both := func(f *Fleet) { f.Cohorts[0].Gate, f.Cohorts[0].Pause = 10*time.Minute, 5*time.Minute }
		paused := func(f *Fleet) { f.Cohorts[0].Pause = 5 * time.Minute }
		for _, test := range []struct {
			name      string
			unchanged bool
			ago, wait time.Duration
			adjust    func(*Fleet)
		}{
			{"a gate", true, time.Hour, 10 * time.Minute, withGate},
			{"a gate and a pause", true, time.Hour, 15 * time.Minute, both},
			{"a pause that is over", true, time.Hour, 0, paused},
			{"a pause that is not over", true, 2 * time.Minute, 2 * time.Minute, paused}, // one minute of the run
			{"a pause after a change", false, time.Hour, 5 * time.Minute, paused},
		} {
			w := &world{unchanged: map[string]bool{"a": test.unchanged}, since: map[string]time.Time{"a": time.Now().Add(-test.ago)}}
			s := w.run(t.Context(), of(t, "canary: a; rest: b", test.adjust))
			require.Equal(t, "canary passed: a done; rest passed: b done", states(s))
			require.Equal(t, test.wait, w.at()-2*time.Minute, test.name)
		}
		w := &world{unchanged: map[string]bool{"a": true}, since: map[string]time.Time{"a": time.Now().Add(-time.Hour)}, unready: map[string]time.Duration{"a": 0}}
		s := w.run(t.Context(), of(t, "canary: a; rest: b", withGate))
		require.Equal(t, Failed, s.Cohorts[0].State, "not ready now, whatever the history says")
	})
}

// A gate that no cluster is left to keep has not passed, whatever the budget.
func TestGateWithoutClusters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{ends: map[string]State{"a": Failed}}
		s := w.run(t.Context(), of(t, "canary: a; rest: b", func(f *Fleet) { withGate(f); f.Cohorts[0].MaxFailures = 1 }))
		require.Equal(t, "canary failed: a failed; rest notStarted: b notStarted", states(s))
		require.ErrorIs(t, s.Cohorts[0].Err, errNoneLeft)
	})
}

// An interrupt lets runs end in their own time, and starts none: during runs, in a gate and in
// a pause.
func TestInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		interrupted := func(after time.Duration, w *world, f *Fleet) Summary {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			defer cancel()
			return w.run(ctx, f)
		}
		w := &world{}
		s := interrupted(30*time.Second, w, of(t, "canary: a b c; rest: d", func(f *Fleet) { f.Cohorts[0].MaxParallel = 2 }))
		require.Equal(t, "canary interrupted: a interrupted, b interrupted, c notStarted; rest notStarted: d notStarted", states(s))
		require.Equal(t, 31*time.Second, w.at())
		require.Equal(t, "interrupted", s.Clusters()[3].Why)

		w = &world{}
		s = interrupted(5*time.Minute, w, of(t, "canary: a; rest: b", withGate))
		require.Equal(t, "canary interrupted: a done; rest notStarted: b notStarted", states(s))
		require.Equal(t, 5*time.Minute, w.at())

		w = &world{}
		s = interrupted(5*time.Minute, w, of(t, "canary: a; rest: b", func(f *Fleet) { f.Cohorts[0].Pause = time.Hour }))
		require.Equal(t, "canary passed: a done; rest notStarted: b notStarted", states(s))
		require.Equal(t, "interrupted", s.Clusters()[1].Why)
	})
}

// The rules hold for any fleet, however its runs end.
func TestRandomFleetsKeepTheRules(t *testing.T) {
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 7))
			w := &world{takes: map[string]time.Duration{}, ends: map[string]State{}, unready: map[string]time.Duration{}}
			f := &Fleet{}
			for i := range 1 + rnd.IntN(4) {
				c := Cohort{Name: fmt.Sprint("cohort", i), MaxFailures: rnd.IntN(3), Pause: time.Duration(rnd.IntN(3)) * time.Minute}
				for j := range 1 + rnd.IntN(12) {
					name := fmt.Sprintf("c%d-%d", i, j)
					c.Clusters = append(c.Clusters, Cluster{Name: name})
					w.takes[name] = time.Duration(rnd.IntN(300)) * time.Second
					if rnd.IntN(6) == 0 {
						w.ends[name] = []State{Failed, TimedOut}[rnd.IntN(2)]
					}
				}
				c.MaxParallel = 1 + rnd.IntN(len(c.Clusters))
				f.Cohorts = append(f.Cohorts, c)
			}
			ctx := t.Context()
			if rnd.IntN(3) == 0 {
				limited, cancel := context.WithTimeout(ctx, time.Duration(rnd.IntN(1200))*time.Second)
				defer cancel()
				ctx = limited
			}
			s := w.run(ctx, f)
			checkRules(t, f, s, w.log)
		})
	}
}

// checkRules checks the rules of any run, from its events alone.
func checkRules(t *testing.T, f *Fleet, s Summary, log []string) {
	t.Helper()
	open, running, failures, over := -1, 0, 0, map[string]bool{}
	for _, line := range log {
		fields := strings.Fields(line)
		at := slices.IndexFunc(f.Cohorts, func(c Cohort) bool { return c.Name == fields[1] })
		cohort := f.Cohorts[at]
		switch fields[2] {
		case string(CohortOpened):
			require.Equal(t, open+1, at, "cohorts open in order")
			require.Zero(t, running, "when the one before is over")
			require.True(t, at == 0 || s.Cohorts[at-1].State == Passed, "and has passed")
			open, failures = at, 0
		case string(ClusterStarted):
			require.Equal(t, open, at)
			require.LessOrEqual(t, failures, cohort.MaxFailures, "nothing starts beyond the budget")
			require.False(t, over[fields[3]], "each starts once")
			over[fields[3]] = true
			running++
			require.LessOrEqual(t, running, cohort.MaxParallel)
		case string(ClusterEnded):
			running--
			i := slices.IndexFunc(cohort.Clusters, func(c Cluster) bool { return c.Name == fields[3] })
			if state := s.Cohorts[at].Clusters[i].State; state == Failed || state == TimedOut {
				failures++
			}
		}
	}
	require.Zero(t, running, "every run ended")
	for i, cohort := range s.Cohorts {
		failed, done := 0, 0
		for _, o := range cohort.Clusters {
			require.Equal(t, o.State != NotStarted, over[o.Cluster])
			require.Equal(t, o.State == NotStarted, o.Why != "", "what did not start has a reason")
			switch o.State {
			case Failed, TimedOut:
				failed++
			case Done:
				done++
			}
		}
		require.Equal(t, failed > f.Cohorts[i].MaxFailures, cohort.State == Failed)
		if cohort.State == Passed {
			require.Equal(t, len(cohort.Clusters), done+failed, "all of a passed cohort ended")
		}
	}
}

// An API server that takes a connection and does not answer fails a gate, as one that
// cannot be reached.
func TestGateWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := of(t, "canary: a; rest: b", withGate)
		s := Coordinator{
			Apply: func(context.Context, Cluster) Result { return Result{State: Done} },
			Observe: func(ctx context.Context, _ Cluster) Observation {
				<-ctx.Done()
				return Observation{Err: errors.New("no answer")}
			},
		}.Run(t.Context(), f)
		require.Equal(t, "canary failed: a done; rest notStarted: b notStarted", states(s))
		gate, is := errors.AsType[*GateError](s.Cohorts[0].Err)
		require.True(t, is)
		require.Equal(t, "a", gate.Cluster)
	})
}
