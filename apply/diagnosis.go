package apply

import "github.com/ordapply/ordapply/internal/diagnose"

// Diagnosis is what the cluster reports about a resource that did not become
// ready.
type Diagnosis = diagnose.Diagnosis

// Finding is one piece of evidence from the cluster.
type Finding = diagnose.Finding

// ContainerLog is the end of what a container of a Pod wrote.
type ContainerLog = diagnose.ContainerLog
