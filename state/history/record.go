package history

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
)

// Record lists the effects of a revision's run: undoing the run undoes these and nothing
// else. It is stored with the revision before the first write of the run, with the planned
// creations and adoptions, and again at the end, with the actual effects. Revisions of
// older versions have none.
type Record struct {
	// Operation is the run's operation; "" is unknown.
	Operation hook.Operation `json:"operation,omitempty"`
	// Created are the objects that did not exist before, and that the run created.
	Created []Created `json:"created,omitempty"`
	// Adopted are the objects that existed before, and that the run made members of the set.
	Adopted []Adopted `json:"adopted,omitempty"`
	// Recreated are the objects that the run deleted to create them again, or may have
	// while it runs.
	Recreated []object.ID `json:"recreated,omitempty"`
	// Hooks are the hooks that ran, in their order.
	Hooks []HookOutcome `json:"hooks,omitempty"`
	// Failure are the first lines of the errors of the run; "" when there were none, and
	// when it was killed.
	Failure string `json:"failure,omitempty"`
	// FailedBefore is the Failure of an earlier run of the same content, if the revision was not
	// deployed then.
	FailedBefore string `json:"failedBefore,omitempty"`
	// HandedOver is the tool that manages the set since this revision, or did: earlier
	// revisions do not describe the set now.
	HandedOver string `json:"handedOver,omitempty"`
	// Pruned is set once a run of the revision has pruned all members that it does not contain.
	Pruned bool `json:"pruned,omitempty"`
	// Deletion is set once the hooks before the deletion of the set have begun to run.
	Deletion bool `json:"deletion,omitempty"`
	// Incomplete is set when Created, Hooks or Recreated are too long to be stored.
	Incomplete bool `json:"incomplete,omitempty"`
	// AdoptedMore is set when Adopted is too long to be stored: every member counts as
	// adopted.
	AdoptedMore bool `json:"adoptedMore,omitempty"`
}

// Created is an object that a run created.
type Created struct {
	object.ID
	UID types.UID `json:"uid,omitempty"` // "" before the API server has answered
}

// Adopted is an object that a run made a member of the set.
type Adopted struct {
	object.ID
	UID types.UID `json:"uid,omitempty"` // "" when it could not be read
	// Set is the id of the set that it was a member of; "" for none.
	Set string `json:"set,omitempty"`
	// Managers are the field managers that made it a member of that set; of an object of no
	// set, all that had written it.
	Managers []string `json:"managers,omitempty"`
	// Carried is set when the run of an earlier revision adopted it and did not become
	// ready: it is no resource of this revision.
	Carried bool `json:"carried,omitempty"`
}

// HookOutcome is a hook that ran.
type HookOutcome struct {
	Event hook.Event `json:"event"`
	object.ID
	Outcome string `json:"outcome"` // its final state, as events name it
}

// recordAnnotation is on a head, and is the Record as JSON, compressed where it is long.
// Older versions ignore it.
const recordAnnotation = "ordapply.dev/record"

const (
	maxPlainRecord = 4 << 10   // bytes of a record that is stored as it is
	maxRecord      = 160 << 10 // bytes of the annotation; all annotations together may have 256 KiB
	gzipPrefix     = "gzip:"
)

// text returns the record as it is stored; "" for an empty one. One over maxRecord
// loses first the uids of created objects, then the lists without which less is
// deleted.
func (r Record) text() string {
	if r.isEmpty() {
		return ""
	}
	shorten := []func(*Record){
		func(*Record) {},
		func(r *Record) {
			r.Created = slices.Clone(r.Created)
			for i := range r.Created {
				r.Created[i].UID = ""
			}
		},
		func(r *Record) { r.Created, r.Hooks, r.Incomplete = nil, nil, true },
		func(r *Record) { r.Recreated, r.Adopted, r.AdoptedMore = nil, nil, true },
	}
	var text string
	for _, step := range shorten {
		step(&r)
		var readable bool
		if text, readable = r.encoded(); readable && len(text) <= maxRecord {
			break
		}
	}
	return text
}

// encoded returns the record as JSON, compressed if it is long, and whether it is read again.
func (r Record) encoded() (encoded string, readable bool) {
	var out bytes.Buffer
	if err := writeObject(&out, r.write); err != nil {
		panic(err) // it holds strings only
	}
	text := out.Bytes()
	return PackText(text), len(text) <= maxPlainRecord || checkRecord(text) == nil
}

// write writes the fields of the record.
func (r Record) write(o *jsonObject) {
	o.fieldIf(r.Operation != "", "operation", r.Operation)
	if len(r.Created) > 0 {
		writeList(o, "created", r.Created, asIs)
	}
	if len(r.Adopted) > 0 {
		writeList(o, "adopted", r.Adopted, asIs)
	}
	if len(r.Recreated) > 0 {
		writeList(o, "recreated", r.Recreated, asIs)
	}
	o.fieldIf(len(r.Hooks) > 0, "hooks", r.Hooks)
	o.fieldIf(r.Failure != "", "failure", r.Failure)
	o.fieldIf(r.FailedBefore != "", "failedBefore", r.FailedBefore)
	o.fieldIf(r.HandedOver != "", "handedOver", r.HandedOver)
	o.fieldIf(r.Pruned, "pruned", true)
	o.fieldIf(r.Deletion, "deletion", true)
	o.fieldIf(r.Incomplete, "incomplete", true)
	o.fieldIf(r.AdoptedMore, "adoptedMore", true)
}

// PackText returns a text as it is kept in an annotation: compressed if it is long.
func PackText(text []byte) string {
	if len(text) <= maxPlainRecord {
		return string(text)
	}
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	_, _ = zipped.Write(text) // a Buffer returns no error
	_ = zipped.Close()
	return gzipPrefix + base64.StdEncoding.EncodeToString(out.Bytes())
}

// UnpackText returns the text of an annotation that PackText returned; an error for another
// one that is compressed, or larger than limits.RecordText or its values.
func UnpackText(packed string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(packed, gzipPrefix)
	if !ok {
		return []byte(packed), nil
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, err
	}
	text, err := unzip(data, limits.RecordText)
	if err == nil {
		err = checkRecord(text)
	}
	return text, err
}

func (r Record) isEmpty() bool { return equality.Semantic.DeepEqual(r, Record{}) }

// readRecord decodes an annotation. One that ordapply did not write is no record.
func readRecord(text string) (r Record) {
	plain, err := UnpackText(text)
	if err != nil || json.Unmarshal(plain, &r) != nil {
		return Record{}
	}
	return r
}

// storedRecord is the record of a listed revision. That of a large set takes long to decode,
// so that is done once, when it is needed.
type storedRecord struct {
	text    string // as it is stored
	decode  sync.Once
	decoded Record
}

func (s *storedRecord) read() Record {
	s.decode.Do(func() { s.decoded = readRecord(s.text) })
	return s.decoded
}

// Record returns the record of the revision's run; zero for revisions of older versions.
func (e Entry) Record() Record {
	if e.record == nil {
		return Record{}
	}
	return e.record.read()
}

// Described returns the entry with its operation and description.
func (e Entry) Described() Entry {
	e.Operation, e.Description = e.Record().Operation, e.describe()
	return e
}

// describe describes the end of the revision's run.
func (e Entry) describe() string {
	r := e.Record()
	name := map[hook.Operation]string{hook.Install: "Install", hook.Upgrade: "Upgrade", hook.Rollback: "Rollback"}[r.Operation]
	if name == "" {
		return ""
	}
	why := firstLine(r.Failure)
	switch {
	case e.Status == Pending:
		name += " in progress, or its run was killed"
	case e.Status == Failed && why == "":
		name += " did not complete: its run was killed, or lost its lock"
	case e.Status == Failed:
		name += " failed: " + why
	case why != "":
		name += " complete; a later run failed: " + why
	case r.FailedBefore != "":
		name += " complete; an earlier run of it failed: " + firstLine(r.FailedBefore)
	default:
		name += " complete"
	}
	if r.HandedOver != "" {
		name += "; then managed by " + r.HandedOver
	}
	if r.Deletion {
		name += "; its deletion has begun"
	}
	return name
}

// firstLine returns the first line of a failure, and how many more there are.
func firstLine(failure string) string {
	first, rest, more := strings.Cut(failure, "\n")
	if more {
		first += " (and " + plain.Count(strings.Count(rest, "\n")+1, "more error") + ")"
	}
	return first
}

// setRecord changes the record of an entry that is going to be written.
func (e *Entry) setRecord(r Record) {
	e.head = e.head.DeepCopy()
	annotations := e.head.GetAnnotations()
	next := &storedRecord{text: r.text()}
	next.decode.Do(func() { next.decoded = r })
	annotations[recordAnnotation] = next.text
	e.head.SetAnnotations(annotations)
	e.record = next
}

// afterRun returns the record of an entry after a run that did this. Another run of a
// revision that is deployed changes only the fields for undoing it, and the failure.
func (e Entry) afterRun(did Record) Record {
	if e.Status == Pending {
		return did
	}
	before := e.Record() // that of a large set takes long to decode
	next := before
	next.Deletion = false
	next.Adopted, next.AdoptedMore, next.Failure = did.Adopted, did.AdoptedMore || before.AdoptedMore, did.Failure
	next.Recreated, next.Pruned = union(before.Recreated, did.Recreated), before.Pruned || did.Pruned
	if e.Status == Deployed {
		return next
	}
	if before.Failure != did.Failure {
		next.FailedBefore = cmp.Or(before.Failure, before.FailedBefore)
	}
	next.Operation = cmp.Or(did.Operation, before.Operation)
	next.Hooks, next.Created = did.Hooks, withCreated(before.Created, did.Created)
	return next
}

// union returns the IDs of both lists, sorted.
func union(a, b []object.ID) []object.ID {
	all := slices.Concat(a, b)
	slices.SortFunc(all, object.Compare)
	return slices.Compact(all)
}

// withCreated returns both lists as one; an object in both is as it is in since.
func withCreated(before, since []Created) []Created {
	again := map[object.ID]bool{}
	for _, c := range since {
		again[c.ID] = true
	}
	out := slices.DeleteFunc(slices.Clone(before), func(c Created) bool { return again[c.ID] })
	out = append(out, since...)
	slices.SortFunc(out, func(a, b Created) int { return object.Compare(a.ID, b.ID) })
	return out
}

// WithAdopted returns the record with more adopted objects. One that is there stays as it
// is: a later run found it as the first had changed it.
func (r Record) WithAdopted(more []Adopted) Record {
	has := map[object.ID]bool{}
	for _, a := range r.Adopted {
		has[a.ID] = true
	}
	r.Adopted = slices.Clip(r.Adopted)
	for _, a := range more {
		if !has[a.ID] {
			r.Adopted = append(r.Adopted, a)
		}
	}
	return r.Sorted()
}

// Sorted returns the record with sorted lists.
func (r Record) Sorted() Record {
	slices.SortFunc(r.Created, func(a, b Created) int { return object.Compare(a.ID, b.ID) })
	slices.SortFunc(r.Adopted, func(a, b Adopted) int { return object.Compare(a.ID, b.ID) })
	slices.SortFunc(r.Recreated, object.Compare)
	return r
}

// Undeployed returns the adoptions of these revisions, oldest first, that no run has
// made ready since.
func Undeployed(entries []Entry) Adoptions {
	out, seen := Adoptions{ByID: map[object.ID]Adopted{}}, map[object.ID]bool{}
	adopts := slices.ContainsFunc(entries, func(e Entry) bool { return len(e.Record().Adopted) > 0 })
	for _, e := range slices.Backward(entries) {
		r := e.Record()
		deployed := e.Status == Deployed || e.Status == Superseded
		out.More = out.More || r.AdoptedMore && !deployed
		for _, a := range r.Adopted {
			if !seen[a.ID] && (a.Carried || !deployed) {
				out.ByID[a.ID] = a
			}
			seen[a.ID] = true
		}
		for i := 0; adopts && i < len(r.Created); i++ { // mostly many, and nothing was adopted
			seen[r.Created[i].ID] = true
		}
	}
	return out
}

// AdoptedSince returns the adoptions after a revision.
func AdoptedSince(entries []Entry, revision int) Adoptions {
	out := Adoptions{ByID: map[object.ID]Adopted{}}
	for _, e := range entries {
		if e.Number <= revision {
			continue
		}
		r := e.Record()
		out.More = out.More || r.AdoptedMore
		for _, c := range r.Created { // again, after it was deleted
			delete(out.ByID, c.ID)
		}
		for _, a := range r.Adopted {
			if _, known := out.ByID[a.ID]; !known { // the first names the former set
				out.ByID[a.ID] = a
			}
		}
	}
	return out
}

// Adoptions are objects that were adopted.
type Adoptions struct {
	ByID map[object.ID]Adopted
	More bool // others were too, and are not listed
}

// Of returns an object's adoption; false if there is none.
func (a Adoptions) Of(id object.ID) (Adopted, bool) {
	if found, ok := a.ByID[id]; ok {
		return found, true
	}
	return Adopted{ID: id}, a.More
}

// With returns the adoptions of both.
func (a Adoptions) With(more Adoptions) Adoptions {
	out := Adoptions{ByID: maps.Clone(more.ByID), More: a.More || more.More}
	if out.ByID == nil {
		out.ByID = map[object.ID]Adopted{}
	}
	maps.Copy(out.ByID, a.ByID)
	return out
}
