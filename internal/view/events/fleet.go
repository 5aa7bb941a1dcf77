package events

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
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
	Until  time.Time `json:"until" doc:"end of the gate, if the clusters stay ready until then, UTC, RFC 3339"`
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
	Clusters   map[string]int `json:"clusters" doc:"number of clusters by how their run ended: done, failed, timedOut, interrupted, notStarted"`
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

// NewHead returns the beginning of a line about a fleet, or about one of its clusters if
// that is not "".
func NewHead(kind, cluster string, at time.Time) Head {
	h := head(kind, at)
	h.Cluster = cluster
	return h
}

// NewError returns the line about an error of a run that did not begin, on a cluster if
// that is not "".
func NewError(cluster string, err error, at time.Time) Error {
	return Error{Head: NewHead(TypeError, cluster, at), Message: err.Error()}
}

// Write writes a line with one Write. It ignores errors of w.
func Write(w io.Writer, line any) { (&Log{w: w}).write(line) }

// InCluster returns a line of a run with the name of its cluster, which follows the
// timestamp.
func InCluster(line []byte, cluster string) []byte {
	key := []byte(`"timestamp":"`)
	at := bytes.Index(line, key)
	if at < 0 {
		return line
	}
	end := at + len(key)
	end += bytes.IndexByte(line[end:], '"') + 1
	name, _ := json.Marshal(cluster) // strings always marshal
	return bytes.Join([][]byte{line[:end], []byte(`,"cluster":`), plain.JSON(name), line[end:]}, nil)
}

// Glance is a line's summary for a reader of many runs.
type Glance struct {
	Type      string         `json:"type"`
	Operation string         `json:"operation"`
	State     string         `json:"state"`
	Final     bool           `json:"final"`
	Unchanged bool           `json:"unchanged"`
	Source    string         `json:"source"`
	Message   string         `json:"message"`
	Name      string         `json:"name"` // of a resource or a wave
	Wave      int            `json:"wave"`
	Counts    map[string]int `json:"counts"`
	Total     int            `json:"-"` // resources of a runStart
	Waves     int            `json:"-"` // of a runStart
}

// Look reads a line. Of the lines with the whole plan it reads only the type.
func Look(line []byte) Glance {
	var g Glance
	switch kind := typeOf(line); kind {
	case TypePlan, TypeHookLog:
		g.Type = kind
	case TypeRunStart, TypeRollbackStart:
		var start RunStart
		_ = json.Unmarshal(line, &start) // the readable part
		g.Type, g.Total, g.Waves = kind, start.Resources, len(start.Waves)
	default:
		_ = json.Unmarshal(line, &g)
	}
	return g
}

// typeOf returns the type of a line, which a Log writes before anything that is long.
func typeOf(line []byte) string {
	_, rest, _ := bytes.Cut(line, []byte(`"type":`))
	kind, err := strconv.QuotedPrefix(string(rest[:min(len(rest), 40)]))
	if err != nil {
		return ""
	}
	name, _ := strconv.Unquote(kind)
	return name
}
