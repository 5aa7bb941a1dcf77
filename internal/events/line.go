// Package events is the machine-readable account of a run, the lines of
// `ordapply apply -o json`: one JSON object a line, whose "type" says what
// happened. docs/events.md and docs/events.schema.json are made from the types
// of this file.
//
//	{"version":1,"type":"resource","timestamp":"…","group":"apps","kind":"Deployment",
//	 "namespace":"shop","name":"web","wave":3,"layer":"shop/web","operation":"apply","state":"waiting"}
package events

import "time"

// Version is that of the lines. It rises when a field changes its meaning or
// goes; new fields and new types may come without that.
const Version = 1

// Head is what every line begins with.
type Head struct {
	Version   int       `json:"version" doc:"of this schema; it rises when a field changes its meaning or goes, not when one is added"`
	Type      string    `json:"type" doc:"what the line tells"`
	Timestamp time.Time `json:"timestamp" doc:"when it happened, UTC, RFC 3339"`
}

// RunStart is the first line of a run.
type RunStart struct {
	Head
	Server    string `json:"server" doc:"URL of the API server"`
	Context   string `json:"context,omitempty" doc:"of the kubeconfig; absent in a Pod"`
	DryRun    bool   `json:"dryRun" doc:"the server validates and stores nothing"`
	Schedule  string `json:"schedule" doc:"waves or graph"`
	Resources int    `json:"resources" doc:"how many the run has"`
	Waves     []Wave `json:"waves" doc:"all waves of the plan, in order"`
}

// RollbackStart tells that the run failed and goes back to a revision. It is like
// the first line: a plan of its own, whose waves are numbered from 1.
type RollbackStart struct {
	Head
	Revision  int    `json:"revision" doc:"of the apply set, that is gone back to; 0: none was deployed before, and what the run created is deleted"`
	Resources int    `json:"resources" doc:"how many the revision has"`
	Waves     []Wave `json:"waves" doc:"all waves of its plan, in order"`
}

// Wave is one wave of the plan.
type Wave struct {
	Wave      int    `json:"wave" doc:"its number, from 1"`
	Name      string `json:"name,omitempty" doc:"the layers that it holds"`
	Resources int    `json:"resources" doc:"how many it has"`
}

// WaveStart tells that a wave opened.
type WaveStart struct {
	Head
	Wave
}

// WaveEnd tells that a wave is over.
type WaveEnd struct {
	Head
	Wave
	State   string         `json:"state" doc:"ready, or deleted; else failed, timedOut or interrupted, and no later wave opens" enum:"ready,deleted,failed,timedOut,interrupted"`
	Seconds float64        `json:"seconds" doc:"since the wave opened"`
	Counts  map[string]int `json:"counts" doc:"how many of its resources are in each state"`
}

// ID names a resource.
type ID struct {
	Group     string `json:"group" doc:"of its kind; empty for the core group"`
	Kind      string `json:"kind" doc:"its kind"`
	Namespace string `json:"namespace,omitempty" doc:"absent when it is cluster-scoped"`
	Name      string `json:"name" doc:"its name"`
}

// Resource is one transition of one resource.
type Resource struct {
	Head
	ID
	Wave      int     `json:"wave" doc:"number of its wave, from 1"`
	Layer     string  `json:"layer" doc:"that placed it; empty when none did"`
	Operation string  `json:"operation" doc:"what the run does with it" enum:"apply,wait,delete"`
	State     string  `json:"state" doc:"where it stands now" enum:"applying,waiting,applied,ready,deferred,deleting,deleted,kept,failed,timedOut,skipped,notStarted,unsettled"`
	Final     bool    `json:"final" doc:"it stays there; each resource has exactly one final line"`
	Unchanged bool    `json:"unchanged,omitempty" doc:"nothing was sent: it is as it was applied last, or was not there to be deleted"`
	Assumed   bool    `json:"assumed,omitempty" doc:"it is ready, and nothing in the object says so"`
	Health    string  `json:"health,omitempty" doc:"how the object is, where the run has judged it" enum:"Healthy,Suspended,Progressing,Missing,Degraded,Unknown,Failed"`
	Message   string  `json:"message,omitempty" doc:"what it waits for, or why it ended so"`
	Seconds   float64 `json:"seconds" doc:"since it was first sent; 0 when it was not"`
}

// Hook is one transition of a Helm hook, which is no resource of the plan.
type Hook struct {
	Head
	ID
	Event     string  `json:"event" doc:"that it runs at" enum:"pre-install,post-install,pre-upgrade,post-upgrade,pre-rollback,post-rollback,pre-delete,post-delete"`
	Operation string  `json:"operation" doc:"what the run does with it" enum:"apply,wait,delete"`
	State     string  `json:"state" doc:"where it stands now" enum:"applying,waiting,applied,ready,deleting,deleted,kept,failed,timedOut,notStarted,unsettled"`
	Final     bool    `json:"final" doc:"what is done with it is over; applying a hook and deleting it by a policy each have one such line"`
	Message   string  `json:"message,omitempty" doc:"what it waits for, or why it ended so"`
	Seconds   float64 `json:"seconds" doc:"since it was sent, or its deletion asked for; 0 when it was not"`
}

// Warning is a remark that ends nothing.
type Warning struct {
	Head
	Source  string `json:"source" doc:"who warns" enum:"plan,server"`
	Message string `json:"message" doc:"the remark"`
}

// Error is one reason why a run failed, or did not begin.
type Error struct {
	Head
	Resource *ID    `json:"resource,omitempty" doc:"whose failure it is; absent when it is the run's"`
	Wave     int    `json:"wave,omitempty" doc:"number of its wave, from 1; absent when it is the run's"`
	Layer    string `json:"layer,omitempty" doc:"that placed the resource"`
	Message  string `json:"message" doc:"what was being done, to what, and why it failed"`
	Rollback bool   `json:"rollback,omitempty" doc:"it is of the rollback, not of the run that failed before"`

	Diagnosis []Finding `json:"diagnosis,omitempty" doc:"what the cluster tells of the cause"`
	Blocks    []ID      `json:"blocks,omitempty" doc:"the resources that were not applied because of it, those that need it first"`
}

// Finding is one thing that the cluster tells.
type Finding struct {
	About *ID      `json:"about,omitempty" doc:"the resource, or one of its Pods, volumes or makers"`
	Text  string   `json:"text" doc:"what it is"`
	Log   []string `json:"log,omitempty" doc:"the last lines that the container wrote"`
}

// RunEnd is the last line.
type RunEnd struct {
	Head
	State    string         `json:"state" doc:"how the run ended" enum:"done,failed,timedOut,interrupted"`
	ExitCode int            `json:"exitCode" doc:"of the command"`
	Seconds  float64        `json:"seconds" doc:"from the first wave to the end; 0 when the run did not begin"`
	Counts   map[string]int `json:"counts" doc:"how many resources ended in each state"`
	Assumed  int            `json:"assumed,omitempty" doc:"how many of them are ready, and nothing in the object says so"`
	Rollback *RollbackEnd   `json:"rollback,omitempty" doc:"how the rollback ended that followed the failure; all else is of what failed"`
}

// RollbackEnd is how a rollback ended.
type RollbackEnd struct {
	Revision int            `json:"revision" doc:"that was gone back to; 0: none was deployed before, and what the run created was deleted"`
	State    string         `json:"state" doc:"how it ended" enum:"done,failed,timedOut,interrupted"`
	Seconds  float64        `json:"seconds" doc:"how long it took"`
	Counts   map[string]int `json:"counts" doc:"how many resources ended in each state"`
}

// The types of lines.
const (
	TypeRunStart      = "runStart"
	TypeWaveStart     = "waveStart"
	TypeResource      = "resource"
	TypeHook          = "hook"
	TypeWaveEnd       = "waveEnd"
	TypeRollbackStart = "rollbackStart"
	TypeWarning       = "warning"
	TypeError         = "error"
	TypeRunEnd        = "runEnd"
)
