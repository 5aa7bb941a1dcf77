package status

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

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// stage is a simulated set for a follower, with a record of the follower's
// actions.
type stage struct {
	*statusFollower
	reads     []bool // true for reads of the whole set, false for those of the parent only
	fault     error  // of a read
	mu        sync.Mutex
	open      map[string]func(kube.WatchEvent)
	opened    int // number of opened views
	snapshot  setSnapshot
	shows     []time.Duration // times
	members   int             // as last shown
	faults    []string
	requested int // requests for endpoints
	turns     chan func() error
	start     time.Time
}

func viewOf(resource, namespace string) kube.View {
	return kube.View{Kind: kube.Kind{Resource: schema.GroupVersionResource{Resource: resource}, Namespaced: true}, Namespace: namespace}
}

func newStage() *stage {
	s := &stage{open: map[string]func(kube.WatchEvent){}, turns: make(chan func() error), start: time.Now()}
	s.snapshot = setSnapshot{
		changeSignals: []kube.View{viewOf("parents", "ns")}, members: []kube.View{viewOf("pods", "")},
		perNamespace: func(v kube.View) []kube.View {
			if v.Namespace != "" {
				return nil
			}
			return []kube.View{viewOf("pods", "a"), viewOf("pods", "b")}
		},
		setStatus: func(live []*unstructured.Unstructured, _ time.Time, _ endpoints) *setStatus {
			return setStatusOf(len(live))
		},
	}
	s.statusFollower = &statusFollower{show: s, read: s.read, watches: newWatchSet(s.watch)}
	return s
}

func setStatusOf(members int) *setStatus {
	return &setStatus{Sections: []section{{Name: "all", Members: make([]member, members)}}}
}

func (s *stage) read(_ context.Context, whole bool) (*setSnapshot, error) {
	s.reads = append(s.reads, whole)
	if s.fault != nil {
		return nil, s.fault
	}
	read := s.snapshot
	if whole {
		read.now = setStatusOf(0)
	}
	return &read, nil
}

func (s *stage) watch(ctx context.Context, v kube.View, changed func(kube.WatchEvent)) {
	key := v.Kind.Resource.Resource + " " + v.Namespace
	s.mu.Lock()
	s.open[key] = changed
	s.opened++
	s.mu.Unlock()
	changed(kube.WatchEvent{Listed: true})
	<-ctx.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, key)
}

// tell sends a change to a watch.
func (s *stage) tell(view string, c kube.WatchEvent) {
	s.mu.Lock()
	changed := s.open[view]
	s.mu.Unlock()
	changed(c)
}

func (s *stage) show(now *setStatus) error {
	s.shows = append(s.shows, time.Since(s.start))
	s.members = len(now.members())
	return nil
}

func (s *stage) trouble(err error) error {
	s.faults = append(s.faults, fmt.Sprint(err))
	return nil
}

func (s *stage) redraws() <-chan func() error { return s.turns }

// turn runs the follower's goroutine until it has processed what the test did.
func (s *stage) turn() {
	done := make(chan struct{})
	s.turns <- func() error {
		close(done)
		return nil
	}
	<-done
}

func (s *stage) forget() { s.reads, s.shows, s.faults, s.opened = nil, nil, nil, 0 }

// begin follows until the test ends; when it returns, nothing is pending.
func (s *stage) begin(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.follow(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-ended, event.ErrInterrupted)
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

// views returns the watched views.
func (s *stage) views() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.open))
}

func pod(n int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": fmt.Sprint("p", n), "namespace": "a"}}}
}

// Without changes nothing is read or shown. Many changes at once are shown a
// few times, always including the first one immediately and the last one.
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
			s.tell("pods ", kube.WatchEvent{Objects: []*unstructured.Unstructured{pod(n)}})
			time.Sleep(time.Millisecond)
		}
		s.settle(time.Minute)
		require.Equal(t, 1000, s.members)
		require.Len(t, s.shows, 6)
		require.Equal(t, began, s.shows[0], "the first at once")
		require.Equal(t, began+5*minShowInterval, s.shows[5])
		require.Empty(t, s.reads)
		s.tell("pods ", kube.WatchEvent{Deleted: true, Objects: []*unstructured.Unstructured{pod(7)}})
		s.settle(0)
		require.Equal(t, 999, s.members)
	})
}

// When the parent changes the set is read again, and new kinds are watched;
// existing watches continue.
func TestANewKindIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.begin(t)
		s.forget()
		s.snapshot.members = append(s.snapshot.members, viewOf("jobs", "a"))
		for range 20 {
			s.tell("parents ns", kube.WatchEvent{})
		}
		s.settle(time.Minute)
		require.Equal(t, []bool{false, false}, s.reads, "at once, and once more for all the others")
		require.Equal(t, 1, s.opened)
		s.tell("jobs a", kube.WatchEvent{Objects: []*unstructured.Unstructured{pod(1)}})
		s.settle(time.Second)
		require.Equal(t, 1, s.members)
		s.snapshot.members = s.snapshot.members[:1]
		s.tell("parents ns", kube.WatchEvent{})
		s.settle(time.Minute)
		require.Equal(t, []string{"parents ns", "pods "}, s.views())
		require.Zero(t, s.members)
	})
}

// If watching all namespaces is forbidden, each namespace is watched; if one of
// these is forbidden too, the set is polled.
func TestWhatMayNotBeWatchedIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.begin(t)
		s.forget()
		no := kube.WatchEvent{Forbidden: apierrors.NewForbidden(schema.GroupResource{}, "", nil)}
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

// A kind that is not served cannot be watched; once it is served, everything is
// watched.
func TestAKindIsServedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.snapshot.incomplete = true
		s.begin(t)
		require.Empty(t, s.views())
		require.InDelta(t, 30, len(s.reads), 1)
		s.snapshot.incomplete = false
		s.settle(pollInterval)
		require.Len(t, s.views(), 2)
	})
}

// An unreachable API server is polled every two seconds, and all watches are
// reopened when it is back.
func TestAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.begin(t)
		s.forget()
		s.fault = errors.New("connection refused")
		s.tell("parents ns", kube.WatchEvent{Disconnected: s.fault})
		s.settle(time.Minute)
		require.Empty(t, s.views())
		require.Equal(t, "connection refused", s.faults[0])
		require.InDelta(t, 30, len(s.reads), 1)
		require.NotContains(t, s.reads, false)
		s.forget()
		s.fault = nil
		s.settle(pollInterval)
		require.Equal(t, []string{"<nil>"}, s.faults)
		require.Equal(t, 2, s.opened)
		s.settle(time.Hour)
		require.Len(t, s.reads, 2)
	})
}

// An error of the first read is returned.
func TestNothingToFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.fault = errors.New("there is no such set")
		require.Equal(t, s.fault, s.follow(t.Context()))
	})
}

// Whether a Service has endpoints is read once, and again when they change; an
// error is not cached.
func TestEndpointsAreWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		service := object.ID{Kind: "Service", Namespace: "a", Name: "web"}
		var fault error
		s.snapshot.found = func(object.ID) (bool, error) { s.requested++; return true, fault }
		s.snapshot.backends = func(object.ID) kube.View { return viewOf("endpointslices", "a") }
		s.snapshot.setStatus = func(live []*unstructured.Unstructured, _ time.Time, found endpoints) *setStatus {
			_, _ = found(service)
			return setStatusOf(len(live))
		}
		s.begin(t)
		require.Equal(t, 2, s.requested, "once, and once more when the watch began")
		s.settle(time.Hour)
		require.Equal(t, 2, s.requested)
		fault = errors.New("not now")
		s.tell("endpointslices a", kube.WatchEvent{})
		s.settle(5 * time.Second)
		require.Equal(t, 5, s.requested)
		fault = nil
		s.settle(time.Hour)
		require.LessOrEqual(t, s.requested, 8)
	})
}

// Changes caused by time alone are shown.
func TestAGraceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		due := time.Now().Add(2 * time.Minute)
		s.snapshot.setStatus = func(_ []*unstructured.Unstructured, now time.Time, _ endpoints) *setStatus {
			out := setStatusOf(0)
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
