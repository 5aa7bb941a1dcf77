package history

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/kube"
)

// List lists the revisions, oldest first and described, with one request.
func (h History) List(ctx context.Context) ([]Entry, error) {
	stored, err := h.ReadIndex(ctx)
	return stored.Described(), err
}

// Index is the metadata of a history, read with one request.
type Index struct {
	// entries are the complete revisions that the parent vouches for, oldest first; all
	// where the parent says nothing of revisions.
	entries   []Entry
	chunks    map[int][]*unstructured.Unstructured // by revision, without the heads
	numbers   map[int]bool                         // of all Secrets, also of ignored ones
	highest   int                                  // that the parent vouches for, or any where it says nothing
	unvouched []string                             // Secrets that are ignored, NAMESPACE/NAME
	unlisted  []Entry                              // of these, the revisions that the parent does not know, oldest first
	version   string                               // the highest of the Secrets; "" for none
	// latest is the resource version of the last Secret that was stored after the index was read;
	// "" for none. Copies share it.
	latest *string
}

// next returns the number of the next revision: above all that count, and not used by
// an ignored Secret.
func (s Index) next() int {
	n := s.highest + 1
	for s.numbers[n] {
		n++
	}
	return n
}

// Entries returns the complete revisions, oldest first.
func (s Index) Entries() []Entry { return s.entries }

// Described returns the complete revisions as Entries does, each described.
func (s Index) Described() []Entry {
	out := make([]Entry, len(s.entries))
	for i, e := range s.entries {
		out[i] = e.Described()
	}
	return out
}

// reuseRecords takes the records that are the same as in an earlier index from it.
func (s Index) reuseRecords(earlier Index) {
	for i := range s.entries {
		for _, before := range earlier.entries {
			if e := &s.entries[i]; before.Number == e.Number && before.record != nil && e.record != nil && before.record.text == e.record.text {
				e.record = before.record
			}
		}
	}
}

// Newest returns the newest complete revision; nil when there is none.
func (s Index) Newest() *Entry {
	if len(s.entries) == 0 {
		return nil
	}
	return &s.entries[len(s.entries)-1]
}

// ReadIndex reads the metadata of the whole history with one request.
func (h History) ReadIndex(ctx context.Context) (Index, error) { return h.readIndex(ctx, "") }

// ReadAhead starts to list the records, and returns a history that answers ReadIndex and Records with
// that, for a caller that has to read the parent of the set, too. Either may be read first: under the
// lock no other run writes, and what a killed run sent may arrive between any two requests.
func (h History) ReadAhead(ctx context.Context) History {
	reading := h
	h.ahead = activity.InBackground(func() ([]*unstructured.Unstructured, error) { return reading.Records(ctx) })
	return h
}

// readAgain reads a history again under the lock under which it was read before: all that was
// written since is the run's own, so the answer need not be newer than that.
func (h History) readAgain(ctx context.Context, before Index) (Index, error) {
	if before.latest == nil {
		return h.ReadIndex(ctx)
	}
	return h.readIndex(ctx, *before.latest)
}

func (h History) readIndex(ctx context.Context, notOlderThan string) (Index, error) {
	s := Index{chunks: map[int][]*unstructured.Unstructured{}, numbers: map[int]bool{}, latest: new(string)}
	for n := range h.Vouchers {
		s.highest = max(s.highest, min(n, maxNumber))
	}
	secrets, err := h.records(ctx, notOlderThan)
	if err != nil {
		return s, err
	}
	s.version = highestVersion(secrets)
	for _, secret := range secrets {
		n := numberOf(secret)
		s.numbers[n] = true
		if !h.counts(secret) {
			s.ignore(secret)
			if e, err := readEntry(secret); err == nil && h.isUnlisted(e) {
				s.unlisted = append(s.unlisted, e)
			}
			continue
		}
		s.highest = max(s.highest, n)
		switch {
		case secret.GetDeletionTimestamp() != nil:
		case secret.GetLabels()[chunkLabel] != "":
			s.chunks[n] = append(s.chunks[n], secret)
		default:
			e, err := readEntry(secret)
			if err != nil {
				return s, h.wrapError("read the history", err)
			}
			if h.Vouchers == nil {
				e.record = nil // any account may have written it
			}
			s.entries = append(s.entries, e)
		}
	}
	for _, entries := range [][]Entry{s.entries, s.unlisted} {
		slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Number, b.Number) })
	}
	return s, nil
}

// highestVersion returns the highest resource version of objects; "" for none, and where they cannot be
// compared.
func highestVersion(objects []*unstructured.Unstructured) string {
	highest := ""
	for _, obj := range objects {
		version := obj.GetResourceVersion()
		if highest == "" {
			highest = version
			continue
		}
		order, err := resourceversion.CompareResourceVersion(version, highest)
		if err != nil {
			return ""
		}
		if order > 0 {
			highest = version
		}
	}
	return highest
}

// Records lists the metadata of all Secrets of the history, with one request.
func (h History) Records(ctx context.Context) ([]*unstructured.Unstructured, error) {
	return h.records(ctx, "")
}

func (h History) records(ctx context.Context, notOlderThan string) ([]*unstructured.Unstructured, error) {
	if h.ahead != nil && notOlderThan == "" {
		return h.ahead()
	}
	query := kube.Query{Labels: setLabel + "=" + h.Parent.SetID() + "," + RevisionLabel, Metadata: true, NotOlderThan: notOlderThan}
	secrets, err := h.Cluster.List(ctx, kube.CoreKind("secrets"), h.namespace(), query)
	if err != nil {
		return nil, h.wrapError("read the history", err)
	}
	return secrets, nil
}
