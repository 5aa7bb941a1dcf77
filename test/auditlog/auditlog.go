// Package auditlog reads an API server's audit log: when each request arrived,
// and which write produced which version of an object.
//
//	log, err := auditlog.Read(path)
//	arrived := log.Patches[auditlog.Key{Resource: "deployments", Namespace: "shop", Name: "web"}]
package auditlog

import (
	"slices"
	"strings"
	"time"
)

// record holds the fields that are read from an audit event.
type record struct {
	Stage     string
	Verb      string
	UserAgent string
	ObjectRef struct {
		Resource, Namespace, Name, Subresource string
	}
	RequestReceivedTimestamp time.Time
	StageTimestamp           time.Time
	ResponseStatus           struct{ Code int }
	ResponseObject           struct {
		Metadata struct{ ResourceVersion string }
	}
}

// key identifies the object. In audit logs a Namespace is in the namespace of
// its name.
func (r record) key() Key {
	if r.ObjectRef.Resource == "namespaces" {
		return Key{"namespaces", "", r.ObjectRef.Name}
	}
	return Key{r.ObjectRef.Resource, r.ObjectRef.Namespace, r.ObjectRef.Name}
}

// writes reports whether the request is a write.
func (r record) writes() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb)
}

// Key identifies an object as audit logs do; Resource is the plural of its
// kind.
type Key struct{ Resource, Namespace, Name string }

// Version is one version of an object.
type Version struct {
	Key
	ResourceVersion string
}

// Log is the content of an audit log.
type Log struct {
	Patches map[Key]time.Time     // arrival of ordapply's first PATCH of an object
	Writes  map[Version]time.Time // arrival of the write that produced a version
	Written map[Version]time.Time // response to that write
	Created map[Key]time.Time     // arrival of the POST of an object, from any client
	Deleted map[Key]time.Time     // arrival of the first DELETE of an object
	Sent    []Write               // ordapply's writes, including failed ones, in order of their responses
}

// Write is a writing request.
type Write struct {
	Key
	Verb    string
	Arrived time.Time
	Code    int // of the response
}

// Read reads the log in a file.
func Read(path string) (*Log, error) {
	a := &Log{
		Patches: map[Key]time.Time{}, Created: map[Key]time.Time{}, Deleted: map[Key]time.Time{},
		Writes: map[Version]time.Time{}, Written: map[Version]time.Time{},
	}
	if err := eachEvent(path, 0, a.take); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *Log) take(r record) {
	if r.Stage == "ResponseComplete" && r.writes() && strings.HasPrefix(r.UserAgent, "ordapply/") {
		a.Sent = append(a.Sent, Write{r.key(), r.Verb, r.RequestReceivedTimestamp, r.ResponseStatus.Code})
	}
	if r.Stage != "ResponseComplete" || r.ResponseStatus.Code >= 300 {
		return
	}
	switch {
	case r.Verb == "patch" && strings.HasPrefix(r.UserAgent, "ordapply/"):
		first(a.Patches, r)
	case r.Verb == "create" && r.ObjectRef.Subresource == "":
		first(a.Created, r)
	case r.Verb == "delete":
		first(a.Deleted, r)
	}
	if rv := r.ResponseObject.Metadata.ResourceVersion; rv != "" {
		version := Version{r.key(), rv}
		a.Writes[version], a.Written[version] = r.RequestReceivedTimestamp, r.StageTimestamp
	}
}

// first stores the arrival of the first request for an object.
func first(arrived map[Key]time.Time, r record) {
	if _, seen := arrived[r.key()]; !seen {
		arrived[r.key()] = r.RequestReceivedTimestamp
	}
}
