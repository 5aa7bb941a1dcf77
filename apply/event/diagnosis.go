// Package event holds the reports of a run: the states of its resources, their events, the
// results, the errors with their diagnosis.
//
//	for _, r := range summary.Results {
//		fmt.Println(r.ID, r.State, r.Took()) // Deployment shop/web ready 2.1s
//	}
package event

import (
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
)

// Diagnosis is the cluster's report about a resource that did not become ready.
type Diagnosis struct {
	Of object.ID // the resource
	// Findings are the causes: the most likely one first, then the resource's own conditions, its
	// Pods and volumes, their events, and failed reads. They never contain values
	// of environment variables or of the stream's Secrets.
	Findings []Finding
	// Cause is the text of the first finding without times, for a record; "" if there is none.
	Cause string
	// Blocks are the resources that were not applied because of this one, its
	// dependents first.
	Blocks []object.ID
	// Waves are the titles of the later waves that contain Blocks; none in a
	// run without waves.
	Waves []string
}

// Finding is one piece of evidence from the cluster.
type Finding struct {
	About object.ID // the resource, or one of its Pods, volumes or owners; empty for a failed read
	Text  string
	Log   []string // the last lines that the container wrote; none if it is not about a container
}

// MaxNames is the number of blocked resources that are listed by name.
const MaxNames = 3

// Lines returns the diagnosis as text, one finding a line, the lines of a log
// behind a bar. It contains text of the cluster: escape it before printing it
// on a terminal.
func (d *Diagnosis) Lines() []string {
	var lines []string
	for _, f := range d.Findings {
		lines = append(lines, d.Text(f))
		for _, line := range f.Log {
			lines = append(lines, "  | "+line)
		}
	}
	if len(d.Blocks) > 0 {
		lines = append(lines, "it blocks "+plain.Count(len(d.Blocks), "resource")+d.blockedWaves()+": "+JoinNames(d.Blocks))
	}
	return lines
}

// Text returns the text of a finding, with the object that it is about unless that is the
// resource.
func (d *Diagnosis) Text(f Finding) string {
	if f.About == d.Of || f.About == (object.ID{}) {
		return f.Text
	}
	return f.About.String() + ": " + f.Text
}

// blockedWaves names the waves that are blocked.
func (d *Diagnosis) blockedWaves() string {
	switch len(d.Waves) {
	case 0:
		return ""
	case 1:
		return " in " + d.Waves[0]
	}
	return " in " + d.Waves[0] + " and later"
}

// JoinNames lists resources, the first three by name and the rest by their number.
func JoinNames(ids []object.ID) string {
	return strings.Join(plain.Sample(ids, MaxNames, "and %d more", object.ID.String), ", ")
}

// ContainerLog is the log of a container.
type ContainerLog struct {
	Pod       object.ID
	Container string   // its name; "" with an error about the whole Pod
	Lines     []string // without colours and cursor moves; of a long log the end
	Err       error    // why it could not be read; there are no lines then
}
