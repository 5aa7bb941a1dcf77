package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/kube"
)

// Last returns the newest revision with one of these statuses, any if none is
// given; nil when there is none.
func (h History) Last(ctx context.Context, statuses ...Status) (*Revision, error) {
	stored, err := h.ReadIndex(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range slices.Backward(stored.entries) {
		if len(statuses) == 0 || slices.Contains(statuses, e.Status) {
			return h.read(ctx, e)
		}
	}
	return nil, nil
}

// Read returns one revision. If there is no such number, the error lists the
// existing ones; a damaged one, or one of a later format, is an error, too.
func (h History) Read(ctx context.Context, n int) (*Revision, error) {
	return h.find(ctx, n, h.read)
}

// Show is Read for people: it also returns a revision of a set whose parent says nothing of
// revisions.
func (h History) Show(ctx context.Context, n int) (*Revision, error) {
	return h.find(ctx, n, h.readListed)
}

// find reads the revision with a number.
func (h History) find(ctx context.Context, n int, read func(context.Context, Entry) (*Revision, error)) (*Revision, error) {
	stored, err := h.ReadIndex(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range stored.entries {
		if e.Number == n {
			return read(ctx, e)
		}
	}
	return nil, h.unknownError(stored.entries, n)
}

// unknownError returns the error for a revision that does not exist.
func (h History) unknownError(entries []Entry, n int) error {
	var known []string
	for _, e := range entries {
		known = append(known, fmt.Sprint(e.Number))
	}
	if len(known) == 0 {
		return fmt.Errorf("%s has no revisions", h.set())
	}
	return fmt.Errorf("%s has no revision %d; it has %s", h.set(), n, strings.Join(known, ", "))
}

// RevisionHooks are the hooks of a revision.
type RevisionHooks struct {
	Number int
	Hooks  hook.Hooks
}

// Hooks reads the hooks of the listed revisions, newest first. It keeps nothing else
// of them in memory. A revision that is damaged, or that the parent does not vouch for, is
// left out, unless it is needed.
func (h History) Hooks(ctx context.Context, entries []Entry, needed int) ([]RevisionHooks, error) {
	var out []RevisionHooks
	for _, e := range slices.Backward(entries) {
		if e.hooks == 0 {
			continue
		}
		r, err := h.read(ctx, e)
		if (isDamaged(err) || isUnvouched(err)) && e.Number != needed {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, RevisionHooks{e.Number, r.ReadHooks()})
	}
	return out, nil
}

// read reads a revision that the parent vouches for; else the error is an *UnvouchedError.
func (h History) read(ctx context.Context, e Entry) (*Revision, error) {
	data, err := h.data(ctx, e)
	if err != nil {
		return nil, err
	}
	if h.Vouchers == nil {
		return nil, h.unvouched(e, false)
	}
	if h.Vouchers[e.Number].Digest != dataDigest(data) {
		return nil, h.unvouched(e, true)
	}
	return h.decode(ctx, e, data)
}

// readToApply is read for a revision that is going to be applied: it adds the values of
// Secrets that are kept elsewhere.
func (h History) readToApply(ctx context.Context, e Entry) (*Revision, error) {
	r, err := h.read(ctx, e)
	if err == nil {
		err = h.fillValues(ctx, r)
	}
	return r, err
}

// readListed reads a revision also where the parent says nothing of revisions: to show it, or
// to learn an order, kinds and namespaces from it. Nothing may be applied, run or deleted
// because of it.
func (h History) readListed(ctx context.Context, e Entry) (*Revision, error) {
	if h.Vouchers != nil {
		return h.read(ctx, e)
	}
	data, err := h.data(ctx, e)
	if err != nil {
		return nil, err
	}
	return h.decode(ctx, e, data)
}

// data reads all chunks of a revision.
func (h History) data(ctx context.Context, e Entry) ([]byte, error) {
	doing := fmt.Sprintf("read revision %d", e.Number)
	if e.chunks > limits.RevisionText/chunkSize+1 {
		return nil, h.damagedError(e, fmt.Errorf("it consists of %d Secrets, which are larger than %d MiB", e.chunks, limits.RevisionText>>20))
	}
	var data bytes.Buffer
	for i := range max(1, e.chunks) {
		name := e.secretName(i)
		secret, err := h.Cluster.Get(ctx, kube.CoreKind("secrets"), h.namespace(), name)
		if apierrors.IsNotFound(err) {
			return nil, h.missingSecretError(ctx, e, name)
		}
		if err != nil {
			return nil, h.wrapError(doing, err)
		}
		part, err := unpack(secret)
		if err != nil {
			return nil, h.damagedError(e, err)
		}
		data.Write(part)
	}
	return data.Bytes(), nil
}

// decode returns the revision of an entry with this data.
func (h History) decode(ctx context.Context, e Entry, data []byte) (*Revision, error) {
	doing := fmt.Sprintf("read revision %d", e.Number)
	r, err := decodeWithin(ctx, data)
	if ctx.Err() != nil {
		return nil, h.wrapError(doing, context.Cause(ctx))
	}
	if _, later := errors.AsType[*laterFormatError](err); later {
		return nil, h.wrapError(doing, err)
	}
	if err != nil {
		return nil, h.damagedError(e, err)
	}
	r.stored = e.Number
	r.Number, r.Created, r.Status, r.Rollback, r.Origin, r.Record = e.Number, e.Created, e.Status, e.Rollback, e.Origin, e.Record()
	for i := range r.Resources {
		r.Resources[i].Source = fmt.Sprintf("revision %d", e.Number)
	}
	for i := range r.Hooks {
		r.Hooks[i].Source = fmt.Sprintf("revision %d", e.Number)
	}
	r.Plan.Hooks = r.ReadHooks().PlannedIn(r.Plan)
	return r, nil
}

// damagedRevision reports a revision that cannot be read completely.
type damagedRevision struct{ error }

// Unwrap returns the reason.
func (e *damagedRevision) Unwrap() error { return e.error }

func isDamaged(err error) bool {
	_, damaged := errors.AsType[*damagedRevision](err)
	return damaged
}

// errGone reports that a revision was deleted after it was listed: by another
// run, or with its Namespace.
var errGone = errors.New("it was deleted in the meantime")

// missingSecretError returns the error for a missing Secret of a revision: when the head is
// gone too, the whole revision was deleted.
func (h History) missingSecretError(ctx context.Context, e Entry, name string) error {
	_, err := h.Cluster.Get(ctx, kube.CoreKind("secrets"), h.namespace(), e.head.GetName())
	if apierrors.IsNotFound(err) {
		return h.wrapError(fmt.Sprintf("read revision %d", e.Number), errGone)
	}
	return h.damagedError(e, fmt.Errorf("its Secret %s does not exist", name))
}

// damagedError returns the error for a revision that cannot be read completely,
// with the way to continue without it: from older revisions and the live
// objects.
func (h History) damagedError(e Entry, err error) error {
	return h.wrapError(fmt.Sprintf("read revision %d", e.Number), &damagedRevision{fmt.Errorf("%w; it cannot be restored: to continue without it, delete it (kubectl delete secret %s -n %s) and run this again",
		err, e.head.GetName(), h.namespace())})
}
