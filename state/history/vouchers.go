package history

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Accounts that may create Secrets in a history's namespace can write one that looks like a
// revision. So a revision counts only if the parent of the set vouches for it: the run that
// stores the revision writes the digest of its content there first, under the lock.

// Voucher is a revision's entry on the parent of a set.
type Voucher struct {
	Digest string `json:"digest"` // of the data of all its Secrets, as dataDigest returns it
	// UID is the head's; "" until the run of a later revision has read it.
	UID types.UID `json:"uid,omitempty"`
}

// Vouchers are the revisions that the parent of a set vouches for, by number. Nil is a
// parent that says nothing of revisions: an older version wrote it, or it was lost.
type Vouchers map[int]Voucher

// VouchersAnnotation is on the parent of a set and holds its Vouchers in JSON.
const VouchersAnnotation = "ordapply.dev/revisions"

// maxNumber bounds the number of a revision. No run gets that far: a higher one is not ours.
const maxNumber = 1_000_000_000

// ReadVouchers returns the vouchers of a live parent; none where the annotation was edited
// so that it cannot be read.
func ReadVouchers(parent *unstructured.Unstructured) Vouchers {
	text, has := parent.GetAnnotations()[VouchersAnnotation]
	if !has {
		return nil
	}
	out := Vouchers{}
	if json.Unmarshal([]byte(text), &out) != nil {
		return Vouchers{}
	}
	return out
}

// Text returns the vouchers as they are stored; "" for nil.
func (v Vouchers) Text() string {
	if v == nil {
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it holds strings only
	}
	return string(text)
}

// Equal reports whether both are the same.
func (v Vouchers) Equal(other Vouchers) bool {
	return (v == nil) == (other == nil) && maps.Equal(v, other)
}

// counts reports whether a Secret is a part of the history: of a revision that the parent
// vouches for, or, where the parent says nothing of revisions, of any. The content is
// compared when it is read.
func (h History) counts(secret *unstructured.Unstructured) bool {
	if !h.isNamed(secret) || h.Vouchers == nil {
		return h.isNamed(secret)
	}
	voucher, listed := h.Vouchers[numberOf(secret)]
	isHead := secret.GetLabels()[chunkLabel] == ""
	return listed && (!isHead || voucher.UID == "" || voucher.UID == secret.GetUID())
}

// with returns the vouchers of the listed revisions and of another one.
func (v Vouchers) with(kept []Entry, number int, digest string) Vouchers {
	out := Vouchers{number: {Digest: digest}}
	for _, e := range kept {
		if voucher, found := v[e.Number]; found {
			out[e.Number] = Voucher{voucher.Digest, e.head.GetUID()}
		}
	}
	return out
}

// dataDigest returns the digest of the data of a revision, 24 bytes of SHA-256 in base64.
func dataDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:24])
}

// UnvouchedError reports a revision that is not used, because the parent of its set does not
// vouch for it.
type UnvouchedError struct {
	set     string // for people
	number  int
	edited  bool // the parent vouches for other content
	unknown bool // the parent says nothing of revisions
	secret  string
	remedy  string
}

// Error names the reason and the remedy.
func (e *UnvouchedError) Error() string {
	name := fmt.Sprintf("revision %d of %s (Secret %s) is not used: ", e.number, e.set, e.secret)
	switch {
	case e.unknown:
		return name + "the parent of the set does not list its revisions, because an older version of ordapply wrote it, or it was lost: check them with ordapply history, and if runs of this set stored them, " + e.remedy
	case e.edited:
		return name + "its content is not what a run of the set stored: find out who changed it, and delete the Secret"
	}
	return name + "the parent of the set does not list it, so no run of the set stored it: find out who may create Secrets there, and delete the Secret"
}

// unvouched returns the error for a revision that the parent does not vouch for.
func (h History) unvouched(e Entry, edited bool) *UnvouchedError {
	return &UnvouchedError{
		set: h.set(), number: e.Number, edited: edited, unknown: h.Vouchers == nil, secret: h.namespace() + "/" + e.head.GetName(),
		remedy: "accept them once with ordapply applyset trust " + h.Parent.Argument(),
	}
}

func isUnvouched(err error) bool {
	_, is := errors.AsType[*UnvouchedError](err)
	return is
}

// isNamed reports whether a Secret has the name that follows from its labels. One of
// another name was labelled, and is not ours.
func (h History) isNamed(secret *unstructured.Unstructured) bool {
	chunk := 0
	if text := secret.GetLabels()[chunkLabel]; text != "" {
		var err error
		if chunk, err = strconv.Atoi(text); err != nil || chunk <= 0 {
			return false
		}
	}
	n := numberOf(secret)
	return n > 0 && n <= maxNumber && secret.GetName() == secretName(h.Parent.ID, n, chunk)
}

// isUnlisted reports whether the parent says nothing of a revision that does not count: it
// is forged, or newer than the parent, of which an old copy was restored.
func (h History) isUnlisted(e Entry) bool {
	_, listed := h.Vouchers[e.Number]
	return !listed && h.isNamed(e.head) && e.head.GetDeletionTimestamp() == nil && e.head.GetLabels()[chunkLabel] == ""
}

// OnlyUnlisted reports whether only revisions that the parent does not know suggest that it is
// older than a number.
func (s Index) OnlyUnlisted(number int) bool {
	newest := s.Newest()
	return len(s.unlisted) > 0 && (newest == nil || newest.parent <= number)
}

// MinParentNumber returns the lowest number that the parent may have unless it is an old
// copy, or a revision that it does not know is forged.
func (s Index) MinParentNumber() int {
	n := 0
	if newest := s.Newest(); newest != nil {
		n = newest.parent
	}
	if len(s.unlisted) > 0 {
		n = max(n, s.unlisted[len(s.unlisted)-1].Number)
	}
	return n
}

func (s *Index) ignore(secret *unstructured.Unstructured) {
	s.unvouched = append(s.unvouched, secret.GetNamespace()+"/"+secret.GetName())
}

// Unvouched returns the notes on Secrets that look like revisions and are not used.
func (s Index) Unvouched() []string {
	if len(s.unvouched) == 0 {
		return nil
	}
	names := slices.Sorted(slices.Values(s.unvouched))
	return []string{"ignored, because the parent of the apply set does not list them as revisions: Secret " + strings.Join(names, ", Secret ") +
		"; an older version of ordapply stored them, or somebody who may create Secrets there: delete them, or look at them with ordapply applyset trust, which asks"}
}

// Untrusted returns the complete revisions that the parent does not vouch for, oldest first,
// and the parent's vouchers with theirs added: for the parent, once a person has looked at
// them.
func (h History) Untrusted(ctx context.Context) ([]*Revision, Vouchers, error) {
	next, all := Vouchers{}, h
	maps.Copy(next, h.Vouchers)
	all.Vouchers = nil
	stored, err := all.ReadIndex(ctx)
	if err != nil {
		return nil, nil, err
	}
	var untrusted []*Revision
	for _, e := range stored.entries {
		if h.Vouchers != nil && h.counts(e.head) {
			continue
		}
		data, err := all.data(ctx, e)
		if err != nil {
			return nil, nil, err
		}
		r, err := all.decode(ctx, e, data)
		if err != nil {
			return nil, nil, err
		}
		untrusted = append(untrusted, r)
		next[e.Number] = Voucher{dataDigest(data), e.head.GetUID()}
	}
	return untrusted, next, nil
}
