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
		"": meaningNone, "Frob": meaningNone, "Upgradeable": meaningNone, "Deletable": meaningNone,
		"Ready": meaningGood, "PodsReady": meaningGood, "NetworkingReady": meaningGood, "ScalingActive": meaningGood, "UpToDate": meaningGood, "Up": meaningGood,
		"NoErrors": meaningGood, "NotFailed": meaningGood, "ErrorResolved": meaningGood, "DeploymentSuccessful": meaningGood, "SucceededWithHooks": meaningGood,
		"NotReady": meaningTrouble, "Unhealthy": meaningTrouble, "ReconcileError": meaningTrouble, "OutOfSync": meaningTrouble, "Down": meaningTrouble,
		"RunningWithErrors": meaningTrouble, "NonCompliant": meaningTrouble,
		"InProgress": meaningInProgress, "WaitingForReady": meaningInProgress, "Scaling up": meaningInProgress, "ScalingDown": meaningInProgress, "RollingOut": meaningInProgress, "Deleting": meaningInProgress,
		"PendingUpgrade": meaningInProgress, "ReadyToStartRestoring": meaningInProgress,
		"CreateFailed": meaningFailed, "RetriesExhausted": meaningFailed, "ProgressDeadlineExceeded": meaningFailed, "ErrImagePullFailed": meaningFailed, "TimedOut": meaningFailed, "InvalidSpec": meaningTrouble,
		"RolledOut": meaningNone, "ScaledDown": meaningNone, "ScaledOut": meaningNone, "ConflictFree": meaningGood, "OutOfService": meaningTrouble, "InService": meaningGood,
		"Unsealed": meaningGood, "Sealed": meaningTrouble, "Passing": meaningGood, "Reachable": meaningGood, "Unreachable": meaningTrouble, "Abnormal": meaningTrouble,
		"Paused": meaningPaused, "Suspend": meaningPaused,
	} {
		require.Equal(t, want, meaningOf(name), name)
	}
}
