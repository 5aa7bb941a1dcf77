package wait_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/run/wait"
)

// A state seen before is no movement.
func TestWhatRepeatsIsNoMovement(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := wait.NewClock(start)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	require.True(t, clock.Saw(at(1), "Pod web-1", "Running"))
	require.True(t, clock.Saw(at(2), "Pod web-1", "CrashLoopBackOff"))
	require.False(t, clock.Saw(at(12), "Pod web-1", "Running"))
	require.False(t, clock.Saw(at(13), "Pod web-1", "CrashLoopBackOff"))
	require.Equal(t, 28*time.Second, clock.For(at(30)))
	clock.Knows("Pod web-2", "Pending")
	require.False(t, clock.Saw(at(30), "Pod web-2", "Pending"))
	clock.Moved(at(31))
	require.Equal(t, time.Second, clock.For(at(32)))
}

// The times and messages in a status, and the restarts of a container, do not count.
func TestStates(t *testing.T) {
	status := func(at string, n int64) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"lastTry": at, "done": n}}}
	}
	require.Equal(t, wait.StateOf(status("2026-01-01T00:00:00Z", 1)), wait.StateOf(status("2026-01-01T00:00:10Z", 1)))
	require.NotEqual(t, wait.StateOf(status("2026-01-01T00:00:00Z", 1)), wait.StateOf(status("2026-01-01T00:00:00Z", 2)))

	failing := func(message string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False", "message": message}}}}}
	}
	require.Equal(t, wait.StateOf(failing("request id a91c")), wait.StateOf(failing("request id 3f2a")))

	pod := func(restarts int64, reason string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
			"phase": "Running", "conditions": []any{map[string]any{"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}},
			"containerStatuses": []any{map[string]any{"name": "c", "restartCount": restarts, "state": map[string]any{"waiting": map[string]any{"reason": reason}}}},
		}}}
	}
	require.Equal(t, wait.StateOfPod(pod(1, "CrashLoopBackOff")), wait.StateOfPod(pod(7, "CrashLoopBackOff")))
	require.NotEqual(t, wait.StateOfPod(pod(1, "CrashLoopBackOff")), wait.StateOfPod(pod(1, "ContainerCreating")))
}

// An image that is being pulled is work, until it is pulled.
func TestEvents(t *testing.T) {
	event := func(about, reason, message, at string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"involvedObject": map[string]any{"name": about}, "reason": reason, "message": message, "lastTimestamp": at,
		}}
	}
	scheduled := event("web-1", "Scheduled", "Successfully assigned", "2026-01-01T00:00:01.900000Z")
	pulling := event("web-1", "Pulling", `Pulling image "a"`, "2026-01-01T00:00:01Z")
	pulled := event("web-1", "Pulled", `Successfully pulled image "a" in 300ms`, "2026-01-01T00:00:01Z")
	second := event("web-1", "Pulling", `Pulling image "b"`, "2026-01-01T00:00:01Z")
	other := event("website", "Pulling", `Pulling image "a"`, "2026-01-01T00:00:03Z")
	works := func(events ...*unstructured.Unstructured) bool {
		return wait.Works(wait.EventsAbout(append(events, scheduled, other), "web"))
	}
	require.True(t, works(pulling))
	require.False(t, works(pulling, pulled))
	require.True(t, works(pulling, pulled, second))
	require.False(t, works())

	probe := func(address string) string {
		return wait.EventsAbout([]*unstructured.Unstructured{event("web-1", "Unhealthy", "Get http://"+address+" refused", "2026-01-01T00:00:01Z")}, "web")[0].State
	}
	require.Equal(t, probe("10.0.0.1"), probe("10.0.0.7"))
}
