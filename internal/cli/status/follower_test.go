package status

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
)

// stage is a simulated set for a follower, with a record of the follower's
// actions.
type stage struct {
	mu         sync.Mutex // guards the fields below
	versions   versions
	forbidden  error // of reading the versions
	fault      error // of reading the set
	incomplete bool
	due        time.Time
	slow       time.Duration // how long a read of the set takes

	polls, reads int // reads of the versions, and of the set
	running      int
	shows        []time.Duration // times
	faults       []string
	turns        chan func() error
	start        time.Time
}

func newStage() *stage {
	return &stage{versions: versions{"parent": "1", "a": "1", "b": "1"}, turns: make(chan func() error), start: time.Now()}
}

func (s *stage) read(ctx context.Context) (*reading, error) {
	var slow time.Duration
	s.change(func() { s.reads, s.running, slow = s.reads+1, s.running+1, s.slow })
	defer func() { s.change(func() { s.running-- }) }()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(slow):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault != nil {
		return nil, s.fault
	}
	now := &setStatus{}
	if time.Now().Before(s.due) {
		now.Until = s.due
	}
	return &reading{status: now, incomplete: s.incomplete, versions: s.readVersions}, nil
}

func (s *stage) readVersions(context.Context) (versions, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.polls++
	return maps.Clone(s.versions), s.forbidden
}

func (s *stage) show(*setStatus) error {
	s.change(func() { s.shows = append(s.shows, time.Since(s.start)) })
	return nil
}

func (s *stage) trouble(err error) error {
	s.change(func() { s.faults = append(s.faults, fmt.Sprint(err)) })
	return nil
}

func (s *stage) redraws() <-chan func() error { return s.turns }

func (s *stage) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

func (s *stage) forget() {
	s.change(func() { s.polls, s.reads, s.shows, s.faults = 0, 0, nil, nil })
}

// begin follows until the test ends or interrupts it; when it returns, nothing is
// pending.
func (s *stage) begin(t *testing.T) (interrupt func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- (&statusFollower{read: s.read, show: s}).follow(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-ended, event.ErrInterrupted)
	})
	s.settle(time.Minute)
	return cancel
}

// settle lets time pass.
func (s *stage) settle(d time.Duration) {
	s.change(func() {}) // reads of the test so far precede the next write
	time.Sleep(d + time.Millisecond)
	synctest.Wait()
}

// Without changes only versions are read, every two seconds.
func TestNothingChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.begin(t)
		require.Equal(t, 2, s.reads, "once, and once more since the versions at that time are unknown")
		s.forget()
		s.settle(time.Hour)
		require.Zero(t, s.reads)
		require.Empty(t, s.shows)
		require.InDelta(t, 1800, s.polls, 1)
	})
}

// The set is read once after each change: of an object, or of the set of objects.
func TestAChangeIsRead(t *testing.T) {
	for name, change := range map[string]func(versions){
		"edited":    func(v versions) { v["a"] = "2" },
		"created":   func(v versions) { v["c"] = "1" },
		"deleted":   func(v versions) { delete(v, "b") },
		"recreated": func(v versions) { delete(v, "b"); v["another b"] = "1" },
		"all gone":  func(v versions) { clear(v) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage()
				s.begin(t)
				s.forget()
				s.change(func() { change(s.versions) })
				s.settle(pollInterval)
				require.Equal(t, 1, s.reads)
				require.Len(t, s.shows, 1)
				s.settle(time.Hour)
				require.Equal(t, 1, s.reads)
			})
		})
	}
}

// A set is read by each poll if a part of it or its versions cannot be read.
func TestWhatCannotBeSeenIsReadAgain(t *testing.T) {
	for name, hide := range map[string]func(s *stage, hidden bool){
		"versions": func(s *stage, hidden bool) {
			if s.forbidden = nil; hidden {
				s.forbidden = errors.New("forbidden")
			}
		},
		"a kind": func(s *stage, hidden bool) { s.incomplete = hidden },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage()
				s.change(func() { hide(s, true) })
				s.begin(t)
				require.InDelta(t, 30, s.reads, 1)
				require.Empty(t, s.faults)
				s.change(func() { hide(s, false) })
				s.settle(time.Minute)
				s.forget()
				s.settle(time.Hour)
				require.Zero(t, s.reads)
			})
		})
	}
}

// Errors are shown, and the set is read by each poll until one succeeds.
func TestAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.begin(t)
		s.forget()
		s.change(func() { s.fault, s.versions["a"] = errors.New("connection refused"), "2" })
		s.settle(time.Minute)
		require.Empty(t, s.shows)
		require.Equal(t, "connection refused", s.faults[0])
		require.InDelta(t, 30, s.reads, 1)
		require.Len(t, s.faults, s.reads)
		s.forget()
		s.change(func() { s.fault = nil })
		s.settle(pollInterval)
		require.Equal(t, []string{"<nil>"}, s.faults)
		require.Len(t, s.shows, 1)
		s.settle(time.Hour)
		require.Equal(t, 2, s.reads)
		require.Len(t, s.faults, 1)
	})
}

// An error of the first poll is returned.
func TestNothingToFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.fault = errors.New("there is no such set")
		require.Equal(t, s.fault, (&statusFollower{read: s.read, show: s}).follow(t.Context()))
	})
}

// Changes caused by time alone are shown by the next poll.
func TestAGraceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.due = s.start.Add(2*time.Minute + time.Second)
		s.begin(t)
		s.forget()
		s.settle(time.Hour)
		require.Equal(t, 1, s.reads)
		require.Equal(t, []time.Duration{2*time.Minute + pollInterval}, s.shows)
	})
}

// A slow API server gets one poll at a time. The table is redrawn meanwhile, and an
// interrupt is no error of the poll.
func TestASlowPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		interrupt := s.begin(t)
		s.forget()
		s.change(func() { s.slow, s.incomplete, s.versions["a"] = 10*time.Second, true, "2" })
		for range 600 {
			s.settle(time.Second)
			require.LessOrEqual(t, s.running, 1)
		}
		require.InDelta(t, 50, s.reads, 1, "one in 12 seconds")
		for s.running == 0 {
			s.settle(time.Second)
		}
		redrawn := false
		s.turns <- func() error { redrawn = true; return nil }
		synctest.Wait()
		require.True(t, redrawn)
		require.Equal(t, 1, s.running)
		interrupt()
		synctest.Wait()
		require.Zero(t, s.running)
		require.Empty(t, s.faults)
	})
}
