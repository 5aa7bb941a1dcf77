package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state"
)

// stage is a set that a follower looks at, and what the follower does about it.
type stage struct {
	*follower
	reads   []bool // those of the whole set, and those of the parent alone
	fault   error  // of a read
	mu      sync.Mutex
	open    map[string]func(apply.Change)
	opened  int // views, until now
	scene   scene
	shows   []time.Duration // when
	members int             // as last shown
	faults  []string
	asked   int // about endpoints
	turns   chan func() error
	start   time.Time
}

func viewOf(resource, namespace string) state.View {
	return state.View{Kind: apply.Kind{Resource: schema.GroupVersionResource{Resource: resource}, Namespaced: true}, Namespace: namespace}
}

func newStage() *stage {
	s := &stage{open: map[string]func(apply.Change){}, turns: make(chan func() error), start: time.Now()}
	s.scene = scene{
		signs: []state.View{viewOf("parents", "ns")}, members: []state.View{viewOf("pods", "")},
		apart: func(v state.View) []state.View {
			if v.Namespace != "" {
				return nil
			}
			return []state.View{viewOf("pods", "a"), viewOf("pods", "b")}
		},
		standing: func(live []*unstructured.Unstructured, _ time.Time, _ endpoints) *standing {
			return standingOf(len(live))
		},
	}
	s.follower = &follower{show: s, read: s.read, watch: s.watch}
	return s
}

func standingOf(members int) *standing {
	return &standing{Sections: []section{{Name: "all", Members: make([]member, members)}}}
}

func (s *stage) read(_ context.Context, whole bool) (*scene, error) {
	s.reads = append(s.reads, whole)
	if s.fault != nil {
		return nil, s.fault
	}
	read := s.scene
	if whole {
		read.now = standingOf(0)
	}
	return &read, nil
}

func (s *stage) watch(ctx context.Context, v state.View, changed func(apply.Change)) {
	key := v.Kind.Resource.Resource + " " + v.Namespace
	s.mu.Lock()
	s.open[key] = changed
	s.opened++
	s.mu.Unlock()
	changed(apply.Change{Listed: true})
	<-ctx.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, key)
}

// tell lets a watch see a change.
func (s *stage) tell(view string, c apply.Change) {
	s.mu.Lock()
	changed := s.open[view]
	s.mu.Unlock()
	changed(c)
}

func (s *stage) show(now *standing) error {
	s.shows = append(s.shows, time.Since(s.start))
	s.members = len(now.members())
	return nil
}

func (s *stage) trouble(err error) error {
	s.faults = append(s.faults, fmt.Sprint(err))
	return nil
}

func (s *stage) disturbances() <-chan func() error { return s.turns }

// turn lets the follower's goroutine go on from what the test did, and the test
// from what that goroutine did.
func (s *stage) turn() {
	done := make(chan struct{})
	s.turns <- func() error {
		close(done)
		return nil
	}
	<-done
}

func (s *stage) forget() { s.reads, s.shows, s.faults, s.opened = nil, nil, nil, 0 }

// begin follows until the test ends; nothing moves when it returns.
func (s *stage) begin(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.follow(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-ended, apply.ErrInterrupted)
	})
	s.settle(time.Minute)
}

// settle lets time pass.
func (s *stage) settle(d time.Duration) {
	s.turn()
	time.Sleep(d)
	synctest.Wait()
	s.turn()
}

// views are those that are watched.
func (s *stage) views() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.open))
}

func pod(n int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": fmt.Sprint("p", n), "namespace": "a"}}}
}

// While nothing changes nothing is read and nothing shown. Many changes at once
// are shown a few times, the last of them always and the first at once.
func TestChangesAreShownTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.begin(t)
		require.Equal(t, []bool{true, false}, s.reads, "all once, and once more what changed until its watch began")
		s.forget()
		s.settle(time.Hour)
		require.Empty(t, s.reads)
		require.Empty(t, s.shows)

		began := time.Since(s.start)
		for n := range 1000 {
			s.tell("pods ", apply.Change{Objects: []*unstructured.Unstructured{pod(n)}})
			time.Sleep(time.Millisecond)
		}
		s.settle(time.Minute)
		require.Equal(t, 1000, s.members)
		require.Len(t, s.shows, 6)
		require.Equal(t, began, s.shows[0], "the first at once")
		require.Equal(t, began+5*showEvery, s.shows[5])
		require.Empty(t, s.reads)
		s.tell("pods ", apply.Change{Deleted: true, Objects: []*unstructured.Unstructured{pod(7)}})
		s.settle(0)
		require.Equal(t, 999, s.members)
	})
}

// When the parent changes the set is read again, and what it has now is watched;
// what was watched goes on.
func TestANewKindIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.begin(t)
		s.forget()
		s.scene.members = append(s.scene.members, viewOf("jobs", "a"))
		for range 20 {
			s.tell("parents ns", apply.Change{})
		}
		s.settle(time.Minute)
		require.Equal(t, []bool{false, false}, s.reads, "at once, and once more for all the others")
		require.Equal(t, 1, s.opened)
		s.tell("jobs a", apply.Change{Objects: []*unstructured.Unstructured{pod(1)}})
		s.settle(time.Second)
		require.Equal(t, 1, s.members)
		s.scene.members = s.scene.members[:1]
		s.tell("parents ns", apply.Change{})
		s.settle(time.Minute)
		require.Equal(t, []string{"parents ns", "pods "}, s.views())
		require.Zero(t, s.members)
	})
}

// A watch of all namespaces that may not be gives way to one for each, and where
// one of those may not be either the set is read again and again.
func TestWhatMayNotBeWatchedIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.begin(t)
		s.forget()
		no := apply.Change{Forbidden: apierrors.NewForbidden(schema.GroupResource{}, "", nil)}
		s.tell("pods ", no)
		s.settle(time.Minute)
		require.Empty(t, s.reads)
		require.Equal(t, []string{"parents ns", "pods a", "pods b"}, s.views())
		s.forget()
		s.tell("pods b", no)
		s.settle(time.Minute)
		require.Empty(t, s.views())
		require.InDelta(t, 30, len(s.reads), 1)
		require.NotContains(t, s.reads, false)
	})
}

// A kind that nobody serves cannot be watched; when it is served all is.
func TestAKindIsServedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.scene.incomplete = true
		s.begin(t)
		require.Empty(t, s.views())
		require.InDelta(t, 30, len(s.reads), 1)
		s.scene.incomplete = false
		s.settle(lookEvery)
		require.Len(t, s.views(), 2)
	})
}

// An API server that is away is asked again every two seconds, and all watches
// are opened anew when it is back.
func TestAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.begin(t)
		s.forget()
		s.fault = errors.New("connection refused")
		s.tell("parents ns", apply.Change{Lost: s.fault})
		s.settle(time.Minute)
		require.Empty(t, s.views())
		require.Equal(t, "connection refused", s.faults[0])
		require.InDelta(t, 30, len(s.reads), 1)
		require.NotContains(t, s.reads, false)
		s.forget()
		s.fault = nil
		s.settle(lookEvery)
		require.Equal(t, []string{"<nil>"}, s.faults)
		require.Equal(t, 2, s.opened)
		s.settle(time.Hour)
		require.Len(t, s.reads, 2)
	})
}

// That the set cannot be read at first is an error.
func TestNothingToFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.fault = errors.New("there is no such set")
		require.Equal(t, s.fault, s.follow(t.Context()))
	})
}

// Whether a Service has endpoints is asked once, and again when they change; an
// error is no answer.
func TestEndpointsAreWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		service := object.ID{Kind: "Service", Namespace: "a", Name: "web"}
		var fault error
		s.scene.found = func(object.ID) (bool, error) { s.asked++; return true, fault }
		s.scene.backends = func(object.ID) state.View { return viewOf("endpointslices", "a") }
		s.scene.standing = func(live []*unstructured.Unstructured, _ time.Time, found endpoints) *standing {
			_, _ = found(service)
			return standingOf(len(live))
		}
		s.begin(t)
		require.Equal(t, 2, s.asked, "once, and once more when the watch began")
		s.settle(time.Hour)
		require.Equal(t, 2, s.asked)
		fault = errors.New("not now")
		s.tell("endpointslices a", apply.Change{})
		s.settle(5 * time.Second)
		require.Equal(t, 5, s.asked)
		fault = nil
		s.settle(time.Hour)
		require.LessOrEqual(t, s.asked, 8)
	})
}

// What time alone changes is shown in time.
func TestAGraceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		due := time.Now().Add(2 * time.Minute)
		s.scene.standing = func(_ []*unstructured.Unstructured, now time.Time, _ endpoints) *standing {
			out := standingOf(0)
			if now.Before(due) {
				out.Until = due
			}
			return out
		}
		s.begin(t)
		s.forget()
		s.settle(time.Hour)
		require.Len(t, s.shows, 1)
		require.Equal(t, due, s.start.Add(s.shows[0]))
	})
}
