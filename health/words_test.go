package health

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWords(t *testing.T) {
	for name, want := range map[string][]string{
		"":                           nil,
		"Ready":                      {"ready"},
		"OOMKilled":                  {"oom", "killed"},
		"ReplicaSetNotAvailable":     {"replica", "set", "not", "available"},
		"DEPLOYED_NOT_READY":         {"deployed", "not", "ready"},
		"in-progress":                {"in", "progress"},
		"ACK.ResourceSynced":         {"ack", "resource", "synced"},
		"phase2Done":                 {"phase", "done"},
		"Cluster in healthy state.":  {"cluster", "in", "healthy", "state"},
		"readyReplicas":              {"ready", "replicas"},
		"\xff\xfe":                   nil,
		"ÜberwachungLäuft":           {"überwachung", "läuft"},
		"HTTPRoute":                  {"http", "route"},
		"PostgresClusterStatus":      {"postgres", "cluster", "status"},
		"100%":                       nil,
		"1/3":                        nil,
		"error: no more memory (12)": {"error", "no", "more", "memory"},
	} {
		require.Equal(t, want, slices.Collect(words(name)), name)
	}
}

func TestMeaningOf(t *testing.T) {
	for name, want := range map[string]meaning{
		"": silent, "Frob": silent, "Upgradeable": silent, "Deletable": silent,
		"Ready": good, "PodsReady": good, "NetworkingReady": good, "ScalingActive": good, "UpToDate": good, "Up": good,
		"NoErrors": good, "NotFailed": good, "ErrorResolved": good, "DeploymentSuccessful": good, "SucceededWithHooks": good,
		"NotReady": trouble, "Unhealthy": trouble, "ReconcileError": trouble, "OutOfSync": trouble, "Down": trouble,
		"RunningWithErrors": trouble, "NonCompliant": trouble,
		"InProgress": busy, "WaitingForReady": busy, "Scaling up": busy, "ScalingDown": busy, "RollingOut": busy, "Deleting": busy,
		"PendingUpgrade": busy, "ReadyToStartRestoring": busy,
		"CreateFailed": fatal, "RetriesExhausted": fatal, "ProgressDeadlineExceeded": fatal, "ErrImagePullFailed": fatal, "TimedOut": fatal, "InvalidSpec": trouble,
		"RolledOut": silent, "ScaledDown": silent, "ScaledOut": silent, "ConflictFree": good, "OutOfService": trouble, "InService": good,
		"Unsealed": good, "Sealed": trouble, "Passing": good, "Reachable": good, "Unreachable": trouble, "Abnormal": trouble,
		"Paused": idle, "Suspend": idle,
	} {
		require.Equal(t, want, meaningOf(name), name)
	}
}
