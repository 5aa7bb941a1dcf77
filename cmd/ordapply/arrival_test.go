package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/auditlog"
	"github.com/ordapply/ordapply/test/observer"
	"github.com/ordapply/ordapply/test/recorder"
	"github.com/ordapply/ordapply/test/testcluster"
)

// checkGates compares the API server's audit log with the plan: no PATCH
// arrived before the write that made a Deployment ready, according to a second
// watch, if its resource needs it ready or its wave waits for it.
func checkGates(t *testing.T, plan *ordering.Plan, requests []recorder.Request, cluster *testcluster.Cluster, watch *observer.Observer) {
	t.Helper()
	watch.Stop()
	log, err := auditlog.Read(cluster.AuditLog())
	require.NoError(t, err)
	sent := map[auditlog.Key]time.Time{}
	for _, r := range requests {
		if r.Verb == "patch" {
			sent[auditlog.Key{Resource: r.Resource, Namespace: r.Namespace, Name: r.Name}] = r.Arrived
		}
	}
	ready := map[auditlog.Key]time.Time{}
	for _, s := range plan.Steps {
		if s.ID.Kind == "Deployment" {
			version, seen := watch.ReadyAt(auditKey(s))
			require.True(t, seen, "the second watch never saw %s ready", s.ID)
			require.Contains(t, log.Writes, version)
			ready[auditKey(s)] = log.Writes[version]
		}
	}
	gates := 0
	for _, s := range plan.Steps {
		arrived := sent[auditKey(s)]
		require.False(t, arrived.IsZero(), "%s was never sent", s.ID)
		for _, earlier := range plan.Steps {
			gated := earlier.ReadyBy < s.Wave
			for _, need := range s.Needs {
				gated = gated || need.ID == earlier.ID && need.Gate == ordering.Ready
			}
			if gated && earlier.ID.Kind == "Deployment" {
				gates++
				require.True(t, arrived.After(ready[auditKey(earlier)]), "%s was sent before %s was ready", s.ID, earlier.ID)
			}
		}
	}
	require.NotZero(t, gates)
	t.Logf("%d gates of Deployments, none passed early", gates)
}

// auditKey returns the audit log's key of a step of randomStream.
func auditKey(s ordering.Step) auditlog.Key {
	resource := map[string]string{"Deployment": "deployments", "ConfigMap": "configmaps", "Secret": "secrets", "Namespace": "namespaces"}[s.ID.Kind]
	return auditlog.Key{Resource: resource, Namespace: s.ID.Namespace, Name: s.ID.Name}
}
