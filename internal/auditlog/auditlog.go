// Package auditlog reads an API server's audit log: when each request arrived,
// and which write made which version of an object.
package auditlog

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// record is what is read of one audit event.
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

// key names the object. Audit logs say of a Namespace that it is in itself.
func (r record) key() Key {
	if r.ObjectRef.Resource == "namespaces" {
		return Key{"namespaces", "", r.ObjectRef.Name}
	}
	return Key{r.ObjectRef.Resource, r.ObjectRef.Namespace, r.ObjectRef.Name}
}

// writes reports whether a request changes something, or tries to.
func (r record) writes() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb)
}

// Key names an object as audit logs do; its Namespace and Name are those of the
// object, its Resource the plural of its kind.
type Key struct{ Resource, Namespace, Name string }

// Version is one state of an object.
type Version struct {
	Key
	ResourceVersion string
}

// Log is what an API server wrote down.
type Log struct {
	Patches map[Key]time.Time     // when ordapply's first PATCH of an object arrived
	Writes  map[Version]time.Time // when the write arrived that made a version of an object
	Written map[Version]time.Time // when that write was answered
	Created map[Key]time.Time     // when the POST of an object arrived, whoever sent it
	Deleted map[Key]time.Time     // when the first DELETE of an object arrived
	Sent    []Write               // what ordapply wrote, or tried to, in the order of the answers
}

// Write is one request that writes.
type Write struct {
	Key
	Verb    string
	Arrived time.Time
	Code    int // of the answer
}

// Read reads the log that is in a file.
func Read(path string) (*Log, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	a := &Log{
		Patches: map[Key]time.Time{}, Created: map[Key]time.Time{}, Deleted: map[Key]time.Time{},
		Writes: map[Version]time.Time{}, Written: map[Version]time.Time{},
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		a.take(r)
	}
	return a, lines.Err()
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

// first keeps the first arrival of a request for the object.
func first(arrived map[Key]time.Time, r record) {
	if _, seen := arrived[r.key()]; !seen {
		arrived[r.key()] = r.RequestReceivedTimestamp
	}
}
