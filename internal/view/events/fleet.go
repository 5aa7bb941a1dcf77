package events

import (
	"encoding/json"
	"io"
	"time"

	"github.com/ordapply/ordapply/internal/plain"
)

// FleetStart is the first line of a run on a fleet.
type FleetStart struct {
	Head
	Clusters int           `json:"clusters" doc:"number of clusters"`
	Cohorts  []FleetCohort `json:"cohorts" doc:"all cohorts, in order"`
}

// FleetCohort is a cohort of a fleet.
type FleetCohort struct {
	Cohort       string   `json:"cohort" doc:"name of the cohort"`
	Clusters     []string `json:"clusters" doc:"names of its clusters, in the order in which they start"`
	MaxParallel  int      `json:"maxParallel" doc:"maximum number of clusters that run at the same time"`
	MaxFailures  int      `json:"maxFailures" doc:"number of clusters that may fail"`
	GateSeconds  float64  `json:"gateSeconds,omitempty" doc:"how long its clusters must stay ready"`
	PauseSeconds float64  `json:"pauseSeconds,omitempty" doc:"pause between its end and the next cohort"`
}

// CohortStart reports that a cohort opened.
type CohortStart struct {
	Head
	Cohort string `json:"cohort" doc:"name of the cohort"`
}

// ClusterStart reports that the run on a cluster starts.
type ClusterStart struct {
	Head
	Cohort string `json:"cohort" doc:"name of its cohort"`
}

// ClusterEnd reports that the run on a cluster ended.
type ClusterEnd struct {
	Head
	Cohort    string         `json:"cohort" doc:"name of its cohort"`
	State     string         `json:"state" doc:"how the run ended" enum:"done,failed,timedOut,interrupted"`
	Seconds   float64        `json:"seconds" doc:"how long it took"`
	Counts    map[string]int `json:"counts" doc:"number of resources in each final state"`
	Unchanged bool           `json:"unchanged,omitempty" doc:"the run wrote nothing"`
}

// CohortGate reports that the clusters of a cohort are done and must stay ready.
type CohortGate struct {
	Head
	Cohort string    `json:"cohort" doc:"name of the cohort"`
	Until  time.Time `json:"until" doc:"end of the gate, UTC, RFC 3339"`
}

// CohortEnd reports that a cohort ended.
type CohortEnd struct {
	Head
	Cohort  string `json:"cohort" doc:"name of the cohort"`
	State   string `json:"state" doc:"how it ended; the next cohort opens only after passed" enum:"passed,failed,interrupted"`
	Message string `json:"message,omitempty" doc:"why it failed"`
}

// CohortPause reports that the next cohort opens later.
type CohortPause struct {
	Head
	Cohort string    `json:"cohort" doc:"name of the cohort that passed"`
	Until  time.Time `json:"until" doc:"when the next cohort opens, UTC, RFC 3339"`
}

// FleetEnd is the last line of a run on a fleet.
type FleetEnd struct {
	Head
	State      string         `json:"state" doc:"how it ended" enum:"done,failed,timedOut,interrupted"`
	ExitCode   int            `json:"exitCode" doc:"exit code of the command"`
	Seconds    float64        `json:"seconds" doc:"time since the first cohort opened; 0 if none did"`
	Clusters   map[string]int `json:"clusters" doc:"number of clusters that are done, failed, timedOut, interrupted, notStarted"`
	NotStarted []Unstarted    `json:"notStarted,omitempty" doc:"clusters without a run"`
}

// Unstarted is a cluster without a run.
type Unstarted struct {
	Cluster string `json:"cluster" doc:"name of the cluster"`
	Cohort  string `json:"cohort" doc:"name of its cohort"`
	Message string `json:"message" doc:"why it was not started"`
}

// Types of the lines about a fleet.
const (
	TypeFleetStart   = "fleetStart"   // FleetStart
	TypeCohortStart  = "cohortStart"  // CohortStart
	TypeClusterStart = "clusterStart" // ClusterStart
	TypeClusterEnd   = "clusterEnd"   // ClusterEnd
	TypeCohortGate   = "cohortGate"   // CohortGate
	TypeCohortEnd    = "cohortEnd"    // CohortEnd
	TypeCohortPause  = "cohortPause"  // CohortPause
	TypeFleetEnd     = "fleetEnd"     // FleetEnd
)

// NewHead returns the beginning of a line, about a cluster of a fleet if that is not "".
func NewHead(kind, cluster string, at time.Time) Head {
	return Head{Version: Version, Type: kind, Timestamp: at.UTC(), Cluster: cluster}
}

// NewError returns the line about an error of a run that did not begin, on a cluster if
// that is not "".
func NewError(cluster string, err error, at time.Time) Error {
	return Error{Head: NewHead(TypeError, cluster, at), Message: err.Error()}
}

// Write writes a line with one Write. It ignores errors of w.
func Write(w io.Writer, line any) {
	text, err := json.Marshal(line)
	if err != nil { // the types of this package always marshal
		panic(err)
	}
	_, _ = w.Write(append(plain.JSON(text), '\n'))
}
