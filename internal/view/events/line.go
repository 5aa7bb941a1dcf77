// Package events defines the event stream of `ordapply apply -o json`: JSON lines, one
// object per line, whose "type" says what happened. docs/events.md and docs/events.schema.json
// are generated from the types of this file.
//
//	{"version":1,"type":"resource","timestamp":"…","group":"apps","kind":"Deployment",
//	 "namespace":"shop","name":"web","wave":3,"layer":"shop/web","operation":"apply","state":"waiting"}
package events

import "time"

// Version is the version of the schema. It increases when a field changes its
// meaning or is removed; new fields and new types do not increase it.
const Version = 1

// Head is the beginning of every line.
type Head struct {
	Version   int       `json:"version" doc:"version of this schema; increases when a field changes its meaning or is removed, not when one is added"`
	Type      string    `json:"type" doc:"type of the line"`
	Timestamp time.Time `json:"timestamp" doc:"time of the event, UTC, RFC 3339"`
	Cluster   string    `json:"cluster,omitempty" doc:"name of the cluster, in a run on a fleet; absent in lines about the fleet or a cohort"`
}

// Line is a line of any type of this package.
type Line interface{ Start() Head }

// Start returns the beginning of a line.
func (h Head) Start() Head { return h }

// RunStart is the first line of a run.
type RunStart struct {
	Head
	Server    string `json:"server" doc:"URL of the API server"`
	Context   string `json:"context,omitempty" doc:"context of the kubeconfig; absent in a Pod"`
	DryRun    bool   `json:"dryRun" doc:"dry run: the server validates and stores nothing"`
	Schedule  string `json:"schedule" doc:"waves or graph"`
	Resources int    `json:"resources" doc:"number of resources of the run"`
	Waves     []Wave `json:"waves" doc:"all waves of the plan, in order"`
	Origin
}

// Origin is the command of a run, and where its stream is from.
type Origin struct {
	Command string `json:"command,omitempty" doc:"command of the run: apply, rollback or delete"`
	SetName
	Commit  string `json:"commit,omitempty" doc:"Git commit of the stream, if a variable of the CI system has it"`
	Message string `json:"message,omitempty" doc:"reason for the run"`
}

// SetName names the apply set of a run.
type SetName struct {
	ApplySet  string `json:"applySet,omitempty" doc:"apply set of the run; absent without one"`
	Namespace string `json:"namespace,omitempty" doc:"namespace of the apply set; absent without one, and if its parent is cluster-scoped"`
}

// Revision is the revision of the apply set that the run applies.
type Revision struct {
	Head
	Revision int    `json:"revision" doc:"number of the revision"`
	User     string `json:"user,omitempty" doc:"account of the run; absent if an earlier run stored the revision"`
}

// Plan is the second line of a run, and of its rollback.
type Plan struct {
	Head
	Resources []Planned `json:"resources" doc:"all resources of the plan, in order"`
}

// Planned is one resource of the plan.
type Planned struct {
	ID
	Wave    int    `json:"wave" doc:"number of its wave, from 1"`
	ReadyBy int    `json:"readyBy" doc:"number of the wave after which it must have passed its gate, from 1"`
	Layer   string `json:"layer,omitempty" doc:"layer of the resource; absent without one"`
	Gate    string `json:"gate" doc:"what later waves wait for" enum:"applied,ready"`
	Needs   []Need `json:"needs,omitempty" doc:"resources of the plan that it waits for"`
}

// Need is a resource that another waits for.
type Need struct {
	ID
	Gate     string `json:"gate" doc:"what is waited for" enum:"applied,started,ready"`
	Declared bool   `json:"declared,omitempty" doc:"the author declared it, instead of a reference in a manifest"`
	Reason   string `json:"reason" doc:"why, as in the output of graph"`
}

// RollbackStart reports that the run failed and a rollback begins. It is like the
// first line: the rollback has its own plan, whose waves are numbered from 1.
type RollbackStart struct {
	Head
	Revision  int    `json:"revision" doc:"target revision of the rollback; 0: none was deployed before, and what the run created is deleted"`
	Resources int    `json:"resources" doc:"number of resources of the revision"`
	Waves     []Wave `json:"waves" doc:"all waves of its plan, in order"`
}

// Wave is one wave of the plan.
type Wave struct {
	Wave      int    `json:"wave" doc:"number of the wave, from 1"`
	Name      string `json:"name,omitempty" doc:"layers of the wave"`
	Resources int    `json:"resources" doc:"number of resources of the wave"`
}

// WaveStart reports that a wave opened.
type WaveStart struct {
	Head
	Wave
}

// WaveEnd reports that a wave ended.
type WaveEnd struct {
	Head
	Wave
	State   string         `json:"state" doc:"result of the wave; after failed, timedOut or interrupted no later wave opens" enum:"ready,deleted,failed,timedOut,interrupted"`
	Seconds float64        `json:"seconds" doc:"time since the wave opened"`
	Counts  map[string]int `json:"counts" doc:"number of its resources in each state"`
}

// ID identifies a resource.
type ID struct {
	Group     string `json:"group" doc:"API group; empty for the core group"`
	Kind      string `json:"kind" doc:"kind"`
	Namespace string `json:"namespace,omitempty" doc:"namespace; absent for a cluster-scoped resource"`
	Name      string `json:"name" doc:"name"`
}

// Resource reports a state transition of a resource.
type Resource struct {
	Head
	ID
	Wave      int    `json:"wave" doc:"number of its wave, from 1"`
	Layer     string `json:"layer" doc:"layer of the resource; empty without one"`
	Operation string `json:"operation" doc:"what the run does with it" enum:"apply,wait,delete"`
	State     string `json:"state" doc:"current state" enum:"applying,waiting,applied,ready,deferred,deleting,deleted,kept,failed,timedOut,skipped,notStarted,unsettled"`
	Final     bool   `json:"final" doc:"the state does not change again"`
	Change
	Assumed bool    `json:"assumed,omitempty" doc:"ready, although no status says so"`
	Health  string  `json:"health,omitempty" doc:"health of the object, if the run has assessed it" enum:"Healthy,Suspended,Progressing,Missing,Degraded,Unknown,Failed"`
	Message string  `json:"message,omitempty" doc:"what it waits for, or the reason for its final state"`
	Seconds float64 `json:"seconds" doc:"time since it was first sent; 0 if it was not sent"`
}

// Change is how the run changes an object.
type Change struct {
	Unchanged bool `json:"unchanged,omitempty" doc:"nothing was sent: it was unchanged, or to be deleted and already gone"`
	Created   bool `json:"created,omitempty" doc:"the run created the object"`
}

// Hook is one transition of a hook, which is not a resource of the plan.
type Hook struct {
	Head
	ID
	Event     string  `json:"event" doc:"event of the hook" enum:"pre-install,post-install,pre-upgrade,post-upgrade,pre-rollback,post-rollback,PreSync,Sync,PostSync,SyncFail,pre-delete,post-delete"`
	Operation string  `json:"operation" doc:"what the run does with it" enum:"apply,wait,delete"`
	State     string  `json:"state" doc:"current state" enum:"applying,waiting,applied,ready,deleting,deleted,kept,failed,timedOut,notStarted,unsettled"`
	Final     bool    `json:"final" doc:"the operation is over; there is one such line for its apply, and one for its deletion by a policy"`
	Message   string  `json:"message,omitempty" doc:"what it waits for, or the reason for its final state"`
	Seconds   float64 `json:"seconds" doc:"time since it was sent, or its deletion was requested; 0 if neither"`
}

// HookLog is the output of a hook's container, if a policy asks for it.
type HookLog struct {
	Head
	ID
	Event     string   `json:"event" doc:"event of the hook" enum:"pre-install,post-install,pre-upgrade,post-upgrade,pre-rollback,post-rollback,pre-delete,post-delete"`
	Pod       string   `json:"pod,omitempty" doc:"name of the Pod; absent when the Pods cannot be read"`
	Container string   `json:"container,omitempty" doc:"name of the container; absent when no log can be read"`
	Log       []string `json:"log,omitempty" doc:"lines of the log; of a long one, the last 2000"`
	Message   string   `json:"message,omitempty" doc:"why there are no lines"`
}

// Warning is a warning that does not end the run.
type Warning struct {
	Head
	Source  string `json:"source" doc:"origin of the warning" enum:"plan,order,server,trace"`
	Message string `json:"message" doc:"text of the warning"`
}

// Error is a reason why a run failed or could not start.
type Error struct {
	Head
	Resource *ID    `json:"resource,omitempty" doc:"resource that failed; absent if the whole run did"`
	Wave     int    `json:"wave,omitempty" doc:"number of its wave, from 1"`
	Layer    string `json:"layer,omitempty" doc:"layer of the resource"`
	Message  string `json:"message" doc:"the operation, the resource and why it failed"`
	Rollback bool   `json:"rollback,omitempty" doc:"the error is from the rollback, not from the run that failed before"`

	Diagnosis []Finding `json:"diagnosis,omitempty" doc:"what the cluster says about the cause, the most likely finding first"`
	Blocks    []ID      `json:"blocks,omitempty" doc:"resources that were not applied because of it, direct dependents first"`
}

// Finding is one detail that the cluster reports.
type Finding struct {
	About *ID      `json:"about,omitempty" doc:"the resource, or one of its Pods, volumes or owners"`
	Text  string   `json:"text" doc:"text of the finding"`
	Log   []string `json:"log,omitempty" doc:"last lines of the container's log"`
}

// RunEnd is the last line.
type RunEnd struct {
	Head
	SetName
	Revision int            `json:"revision,omitempty" doc:"revision of the apply set that the run applied; absent if it stored none"`
	State    string         `json:"state" doc:"how the run ended" enum:"done,failed,timedOut,interrupted"`
	ExitCode int            `json:"exitCode" doc:"exit code of the command"`
	Seconds  float64        `json:"seconds" doc:"time from the first wave to the end; 0 if the run did not begin"`
	Counts   map[string]int `json:"counts" doc:"number of resources in each final state"`
	Assumed  int            `json:"assumed,omitempty" doc:"number of resources that are assumed ready"`
	Rollback *RollbackEnd   `json:"rollback,omitempty" doc:"result of the rollback after the failure"`
}

// RollbackEnd is the result of a rollback.
type RollbackEnd struct {
	Revision int            `json:"revision" doc:"target revision of the rollback; 0: none was deployed before, and what the run created was deleted"`
	State    string         `json:"state" doc:"how it ended" enum:"done,failed,timedOut,interrupted"`
	Seconds  float64        `json:"seconds" doc:"how long it took"`
	Counts   map[string]int `json:"counts" doc:"number of resources in each final state"`
}

// Types of lines.
const (
	TypeRunStart      = "runStart"      // RunStart
	TypePlan          = "plan"          // Plan
	TypeRevision      = "revision"      // Revision
	TypeWaveStart     = "waveStart"     // WaveStart
	TypeResource      = "resource"      // Resource
	TypeHook          = "hook"          // Hook
	TypeHookLog       = "hookLog"       // HookLog
	TypeWaveEnd       = "waveEnd"       // WaveEnd
	TypeRollbackStart = "rollbackStart" // RollbackStart
	TypeWarning       = "warning"       // Warning
	TypeError         = "error"         // Error
	TypeRunEnd        = "runEnd"        // RunEnd
)
