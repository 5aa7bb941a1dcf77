package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/auditlog"
)

// wrote returns the requests that wrote a Deployment and then said that it is ready, at
// seconds from the begin.
func wrote(name string, sent, ready int) []auditlog.Request {
	key := auditlog.Key{Resource: "deployments", Namespace: "x", Name: name}
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	status := func(replicas int) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"status":{"readyReplicas":%d}}`, replicas))
	}
	return []auditlog.Request{
		{Key: key, Verb: "patch", User: "admin", Arrived: at(sent - 1), DryRun: true, Code: 200},
		{Key: key, Verb: "patch", User: "admin", Arrived: at(sent), Code: 201},
		{Key: key, Verb: "update", Subresource: "status", User: "controller", Answered: at(sent), Code: 200, Object: status(0)},
		{Key: key, Verb: "update", Subresource: "status", User: "controller", Arrived: at(ready - 1), Answered: at(ready), Code: 200, Object: status(1)},
		{Key: key, Verb: "patch", User: "admin", Arrived: at(ready + 1), Code: 200},
	}
}

// The critical path is the longest chain of own times, without the pauses between them.
func TestCritical(t *testing.T) {
	nodes := []node{{name: "a"}, {name: "b"}, {name: "c", after: []string{"b", "a"}}}
	got, err := critical(nodes, slices.Concat(wrote("a", 10, 13), wrote("b", 10, 15), wrote("c", 20, 22)), "x")
	require.NoError(t, err)
	require.Equal(t, 7.0, got)
	_, err = critical(nodes, slices.Concat(wrote("a", 10, 13), wrote("b", 10, 15), wrote("c", 13, 22)), "x")
	require.EqualError(t, err, "c was applied before b was ready")
	_, err = critical(nodes, slices.Concat(wrote("a", 10, 13), wrote("b", 10, 15), wrote("c", 14, 22)), "x")
	require.NoError(t, err, "a watch saw the status before its answer")
	_, err = critical(nodes, slices.Concat(wrote("a", 10, 13), wrote("b", 10, 15)), "x")
	require.EqualError(t, err, "c was not ready at the end")
}

// Nodes come after those that they name, which critical and the loop rely on.
func TestGraphsAreInOrder(t *testing.T) {
	require.Len(t, graphs(), len(shapes()))
	for shape, nodes := range graphs() {
		seen := map[string]bool{}
		for _, n := range nodes {
			for _, name := range n.after {
				require.True(t, seen[name], "%s: %s after %s", shape, n.name, name)
			}
			require.False(t, seen[n.name], "%s: %s", shape, n.name)
			seen[n.name] = true
		}
	}
}
