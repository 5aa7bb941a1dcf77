package status

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
	for name, want := range map[string]Meaning{
		"": MeaningNone, "Frob": MeaningNone, "Upgradeable": MeaningNone, "Deletable": MeaningNone,
		"Ready": MeaningGood, "PodsReady": MeaningGood, "NetworkingReady": MeaningGood, "ScalingActive": MeaningGood, "UpToDate": MeaningGood, "Up": MeaningGood,
		"NoErrors": MeaningGood, "NotFailed": MeaningGood, "ErrorResolved": MeaningGood, "DeploymentSuccessful": MeaningGood, "SucceededWithHooks": MeaningGood,
		"NotReady": MeaningTrouble, "Unhealthy": MeaningTrouble, "ReconcileError": MeaningTrouble, "OutOfSync": MeaningTrouble, "Down": MeaningTrouble,
		"RunningWithErrors": MeaningTrouble, "NonCompliant": MeaningTrouble,
		"InProgress": MeaningInProgress, "WaitingForReady": MeaningInProgress, "Scaling up": MeaningInProgress, "ScalingDown": MeaningInProgress, "RollingOut": MeaningInProgress, "Deleting": MeaningInProgress,
		"PendingUpgrade": MeaningInProgress, "ReadyToStartRestoring": MeaningInProgress,
		"CreateFailed": MeaningFailed, "RetriesExhausted": MeaningFailed, "ProgressDeadlineExceeded": MeaningFailed, "ErrImagePullFailed": MeaningFailed, "TimedOut": MeaningFailed, "InvalidSpec": MeaningTrouble,
		"RolledOut": MeaningNone, "ScaledDown": MeaningNone, "ScaledOut": MeaningNone, "ConflictFree": MeaningGood, "OutOfService": MeaningTrouble, "InService": MeaningGood,
		"Unsealed": MeaningGood, "Sealed": MeaningTrouble, "Passing": MeaningGood, "Reachable": MeaningGood, "Unreachable": MeaningTrouble, "Abnormal": MeaningTrouble,
		"Paused": MeaningPaused, "Suspend": MeaningPaused,
	} {
		require.Equal(t, want, meaningOf(name), name)
	}
}
