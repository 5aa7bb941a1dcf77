package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/auditlog"
	"github.com/ordapply/ordapply/test/corpora"
	"github.com/ordapply/ordapply/test/observer"
	"github.com/ordapply/ordapply/test/testcluster"
)

func second(n float64) time.Time {
	return time.Unix(1000, 0).Add(time.Duration(n * float64(time.Second)))
}

// lived returns the times of an object, in seconds.
func lived(sent, accepted, ready float64) moment {
	return moment{sent: second(sent), accepted: second(accepted), ready: second(ready), early: second(ready - 0.5)}
}

// The critical path is the longest chain of own times, without pauses of the applier: a gate
// counts what it waits for, and where the applier did not wait for a gate, the next resource does not wait either.
func TestCriticalPath(t *testing.T) {
	for name, c := range map[string]struct {
		plan  string
		times map[string]moment
		want  time.Duration
	}{
		"ready": {
			`{"steps": [{"name": "a"}, {"name": "b", "needs": [{"name": "a", "gate": "ready"}]}]}`,
			map[string]moment{"a": lived(0, 1, 5), "b": lived(9, 10, 12)}, 8 * time.Second,
		},
		"applied": {
			`{"steps": [{"name": "a"}, {"name": "b", "needs": [{"name": "a", "gate": "applied"}]}]}`,
			map[string]moment{"a": lived(0, 1, 3), "b": lived(9, 10, 12)}, 4 * time.Second,
		},
		"the longest of two": {
			`{"steps": [{"name": "a"}, {"name": "b"}, {"name": "c", "needs": [{"name": "a", "gate": "ready"}, {"name": "b", "gate": "ready"}]}]}`,
			map[string]moment{"a": lived(0, 1, 5), "b": lived(0, 1, 7), "c": lived(9, 10, 12)}, 10 * time.Second,
		},
		"a branch that ends last": {
			`{"steps": [{"name": "a"}, {"name": "b"}, {"name": "c", "needs": [{"name": "b", "gate": "ready"}]}]}`,
			map[string]moment{"a": lived(0, 1, 30), "b": lived(0, 1, 7), "c": lived(9, 10, 12)}, 30 * time.Second,
		},
		"seen by a watch before the answer": {
			`{"steps": [{"name": "a"}, {"name": "b", "needs": [{"name": "a", "gate": "ready"}]}]}`,
			map[string]moment{"a": lived(0, 1, 5), "b": lived(4.7, 10, 12)}, 12 * time.Second,
		},
		"a gate that yielded": {
			`{"steps": [{"name": "a"}, {"name": "b", "needs": [{"name": "a", "gate": "ready"}]}]}`,
			map[string]moment{"a": lived(0, 1, 50), "b": lived(31, 32, 33)}, 20 * time.Second,
		},
		"a layer, in another": {
			`{"layers": [{"within": 1}, {}], "steps": [{"name": "a", "gate": "ready", "layers": [0]}, {"name": "b", "after": [{"layer": 1}]}]}`,
			map[string]moment{"a": lived(0, 1, 5), "b": lived(9, 10, 12)}, 8 * time.Second,
		},
		"hooks": {
			`{"steps": [{"name": "a"}], "hooks": [{"name": "pre", "event": "pre-install"}, {"name": "post", "event": "post-install"}, {"name": "post", "event": "post-install"}, {"name": "test", "event": "test"}]}`,
			map[string]moment{"pre": lived(0, 1, 4), "a": lived(5, 6, 7), "post": lived(8, 9, 11), "test": lived(0, 1, 99)}, 9 * time.Second,
		},
		"a hook that did not wait": {
			`{"steps": [{"name": "a"}], "hooks": [{"name": "post", "event": "post-install"}]}`,
			map[string]moment{"a": lived(0, 1, 35), "post": lived(31, 32, 33)}, 5 * time.Second,
		},
		"a hook that did not wait, the longer": {
			`{"steps": [{"name": "a"}], "hooks": [{"name": "post", "event": "post-install"}]}`,
			map[string]moment{"a": lived(0, 1, 33), "post": lived(31, 32, 36)}, 6 * time.Second,
		},
		"not sent": {
			`{"steps": [{"name": "a"}, {"name": "b", "needs": [{"name": "a", "gate": "ready"}]}]}`,
			map[string]moment{"b": lived(9, 10, 12)}, 3 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var p planned
			require.NoError(t, json.Unmarshal([]byte(c.plan), &p))
			m := moments{}
			for name, at := range c.times {
				m[keyNamed(name)] = []*moment{&at}
			}
			require.Equal(t, c.want, p.critical(m))
		})
	}
}

func keyNamed(name string) auditlog.Key { return keysOf(object.ID{Name: name})[0] }

// A hook of both events is created for each: what comes between is not its own time.
func TestCriticalPathOfAHookThatRunsTwice(t *testing.T) {
	var p planned
	require.NoError(t, json.Unmarshal([]byte(`{"steps": [{"name": "a"}], "hooks": [{"name": "twice", "event": "pre-install"}, {"name": "twice", "event": "post-install"}]}`), &p))
	request := func(name, verb string, at float64) auditlog.Request {
		return auditlog.Request{Key: keyNamed(name), UserAgent: "ordapply/1", Verb: verb, Code: 200, Arrived: second(at), Answered: second(at + 1)}
	}
	m := momentsIn([]auditlog.Request{
		request("twice", "create", 0), request("a", "patch", 10), request("twice", "delete", 20), request("twice", "create", 22),
	}, func(auditlog.Key) (observer.Sight, bool) { return observer.Sight{Seen: second(1.1)}, true }, "ordapply/")
	require.Equal(t, 3*time.Second, p.critical(m))
}

// An object is ready by the last write before the watch saw it ready, and sent by the first
// request of the agent that was accepted.
func TestMoments(t *testing.T) {
	key := auditlog.Key{Resource: "deployments", Namespace: "x", Name: "web"}
	write := func(agent, verb, subresource string, code int, at float64) auditlog.Request {
		return auditlog.Request{Key: key, UserAgent: agent, Verb: verb, Subresource: subresource, Code: code, Arrived: second(at), Answered: second(at + 0.1)}
	}
	requests := []auditlog.Request{
		write("observer", "update", "", 200, 0),
		write("ordapply/1", "patch", "", 500, 1),
		write("ordapply/1", "get", "", 200, 2),
		write("ordapply/1", "patch", "", 201, 3),
		write("controller", "update", "status", 200, 4),
		write("controller", "update", "status", 200, 5),
		write("controller", "update", "status", 200, 9),
	}
	seen := func(auditlog.Key) (observer.Sight, bool) { return observer.Sight{Seen: second(5.05)}, true }
	_, at, ok := momentsIn(requests, seen, "ordapply/").of(object.ID{Group: "apps", Kind: "Deployment", Namespace: "x", Name: "web"})
	require.True(t, ok)
	require.Equal(t, moment{sent: second(3), accepted: second(3.1), ready: second(5.1), early: second(5)}, at)
	requests[4].Object = json.RawMessage(`{"metadata":{"resourceVersion":"7"}}`)
	version := func(auditlog.Key) (observer.Sight, bool) {
		return observer.Sight{Version: auditlog.Version{ResourceVersion: "7"}, Seen: second(8)}, true
	}
	_, at, _ = momentsIn(requests, version, "ordapply/").of(object.ID{Kind: "Deployment", Namespace: "x", Name: "web"})
	require.Equal(t, second(4.1), at.ready, "the log has the version that was seen, and the watch was slow")
	never := func(auditlog.Key) (observer.Sight, bool) { return observer.Sight{}, false }
	_, at, _ = momentsIn(requests, never, "ordapply/").of(object.ID{Kind: "Deployment", Namespace: "x", Name: "web"})
	require.Equal(t, second(3.1), at.ready, "without a status it is ready when it is accepted")
}

func needPrograms(t *testing.T) {
	t.Helper()
	for _, program := range []string{"localcluster", "ordapply"} {
		if _, err := testcluster.Find(program); err != nil {
			testcluster.Skip(t, "the "+program+" command (run `make build localcluster`)")
		}
	}
}

// A stream with a webhook that intercepts its custom resources, which get a status.
func TestTimesOfAStream(t *testing.T) {
	one := measured(t, corpora.Need(t), "jobset")
	require.Greater(t, one.Critical, 1.0, "custom resources wait for the Pods behind their webhook, and for a status")
	require.Greater(t, one.Wall, one.Critical)
}

// A program whose webhook has the CA of its cluster.
func TestTimesOfAProgram(t *testing.T) {
	require.Greater(t, measured(t, "", "unkind/linkerd").Critical, 1.0, "Pods wait for others")
}

// measured measures a stream of a folder, or a program, once.
func measured(t *testing.T, folder, name string) sample {
	t.Helper()
	needPrograms(t)
	chosen, err := choose([]string{name})
	require.NoError(t, err)
	trial := &trial{folder: folder, dir: t.TempDir(), progress: t.Output()}
	all, err := trial.times(t.Context(), chosen, 1)
	require.NoError(t, err)
	require.Len(t, all, 1)
	one := all[0].Samples[0]
	require.Greater(t, one.Alone, 1.0)
	return one
}

// The real streams have the names that benchmarks expect.
func TestStreamsAreNamed(t *testing.T) {
	require.ElementsMatch(t, corpora.Applied(), namesOf(streams()))
}

// A null is left out wherever it is; the stream itself keeps it.
func TestWithoutNulls(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{"a": nil, "b": map[string]any{"c": nil, "d": ""}, "e": []any{map[string]any{"f": nil, "g": false}}}}
	got := withoutNulls([]*unstructured.Unstructured{obj})
	require.Equal(t, map[string]any{"b": map[string]any{"d": ""}, "e": []any{map[string]any{"g": false}}}, got[0].Object)
	require.Contains(t, obj.Object, "a")
}

// Objects are found by the names that kubectl gives them.
func TestResourceOf(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "a"}}}
	require.Equal(t, "shop", resourceOf(obj, "shop").Namespace)
	obj.SetNamespace("other")
	require.Equal(t, "other", resourceOf(obj, "shop").Namespace)
	require.True(t, strings.HasSuffix(keysOf(object.ID{Kind: "Prometheus"})[0].Resource, "es"))
}
