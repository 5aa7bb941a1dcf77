package state

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestEveryHistory explores everything that two runs on a set of a few objects can lead
// to, in scenarios of two sorts. In some, two runs are concurrent, and every interleaving of
// their requests is tried. In the others one run follows the other: they run hooks, adopt
// and recreate objects, fail, and are undone. In each, faults come between the requests.
//
// After every request each live member is in the kinds and namespaces of its set, foreign
// objects are unchanged, and the rules in explore_rules_test.go hold, for deletions and
// hooks. When a run has ended with success, or has undone its changes, the cluster is as it
// specifies; of two concurrent runs, as the last holder of the lock does. A later run
// repairs everything.
//
// The runs are the product's own code. A request takes no time, and waits until the
// exploration lets it proceed. Time passes where runs wait for it, and while one is
// suspended, for longer than its Lease lasts. A Lease that is deleted while its holder is
// alive and not suspended is left out: the holder learns of that only by its next renewal
// (docs/state.md).
//
// Without ORDAPPLY_EXPLORE, the number of faults, it tries one fault where one run follows
// the other, and of two concurrent runs one sort of fault; `make explore` tries everything.
// ORDAPPLY_EXPLORE=names prints the scenarios.
func TestEveryHistory(t *testing.T) {
	if raceDetector {
		t.Skip("no history goes twice the same way under -race; `make test` runs this without")
	}
	if testing.Short() {
		t.Skip("left out with -short: histories of two runs")
	}
	if os.Getenv("ORDAPPLY_EXPLORE") == "names" {
		for _, s := range scenarios(t) {
			fmt.Println("scenario", strings.ReplaceAll(s.name, " ", "_"))
		}
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1000))
	faults, err := strconv.Atoi(os.Getenv("ORDAPPLY_EXPLORE"))
	sample := err != nil
	for _, s := range scenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			e := &exploration{scenario: s, faults: faults}
			switch {
			case sample && s.inSequence:
				e.faults = 1
			case sample:
				e.faults, e.sorts = min(len(s.sample), 1), []string{s.sample}
			}
			e.run(t)
			fmt.Printf("explored, %s: %d histories with at most %d faults, %d of them to their end and the others until they were like an earlier one, %d states, %d requests, %d repeated, %d lost track; %s\n",
				s.name, e.histories, e.faults, e.whole, len(e.visited), e.requests, e.repeated, e.diverged, time.Since(began).Round(time.Second))
			e.judge(t)
		})
	}
}

// judge fails with one history for each broken invariant, and when a known
// violation did not occur.
func (e *exploration) judge(t *testing.T) {
	if e.diverged > 0 {
		t.Errorf("%d histories did not go again as they went before: something in a run is random, or in the order of a map", e.diverged)
	}
	for what, v := range e.found {
		if !slices.ContainsFunc(knownViolations, func(known string) bool { return strings.HasPrefix(e.scenario.name+": "+what, known) }) {
			t.Errorf("%s\n%d faults:\n  %s", what, v.faults, strings.Join(v.trace, "\n  "))
		}
	}
	for _, known := range knownViolations {
		if strings.HasPrefix(known, e.scenario.name+": ") && !e.hasFound(known) {
			t.Errorf("this no longer happens, take it off knownViolations: %s", known)
		}
	}
}

func (e *exploration) hasFound(known string) bool {
	for what := range e.found {
		if strings.HasPrefix(e.scenario.name+": "+what, known) {
			return true
		}
	}
	return false
}

// knownViolations are the known ones: the name of a scenario, and the prefix
// of the message. It should be empty.
var knownViolations []string
