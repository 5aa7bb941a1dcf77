// Package history stores the revisions of an apply set in Secrets of the cluster.
//
//	h := history.History{Cluster: cluster, Parent: applyset.Parent{ID: secret}}
//	n, err := h.Begin(ctx, revision)   // before the first write of its run
//	err = h.End(ctx, n, history.Deployed, times)
//	last, err := h.Last(ctx, history.Deployed)
//
// The types that are encoded are this package's own (stored*.go), not
// those of package ordering: a stored revision must stay readable.
package history

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/hooks"
	"github.com/ordapply/ordapply/internal/track"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
)

// DefaultLimit is the number of revisions that are kept by default.
const DefaultLimit = 10

// Cluster is the set of API server calls that storing revisions needs.
type Cluster interface {
	Get(ctx context.Context, kind kube.Kind, namespace, name string) (*unstructured.Unstructured, error)
	List(ctx context.Context, kind kube.Kind, namespace string, query kube.Query) ([]*unstructured.Unstructured, error)
	// Create creates an object; AlreadyExists when there is one of its name.
	Create(context.Context, kube.Kind, *unstructured.Unstructured) (*unstructured.Unstructured, error)
	Apply(context.Context, kube.Kind, *unstructured.Unstructured, kube.PatchOptions) (*unstructured.Unstructured, error)
	Delete(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, options kube.DeleteOptions) error
}

// History is the revisions of an apply set. They are stored in Secrets in the
// namespace of its parent, which are not members of the set. Writers must hold
// the set's lock. Errors wrap those of the API server and name the set.
type History struct {
	Cluster Cluster         // required
	Parent  applyset.Parent // required
	// Namespace is where it is stored; default the parent's.
	Namespace string
	// Limit is the number of revisions to keep, default DefaultLimit. The one
	// that was deployed last is kept in any case.
	Limit int

	// ParentNumber is the number that the parent has when the run of the next
	// revision need not write it before its members; 0: it writes it.
	ParentNumber int
	// User returns the account that stores a revision, "" if it is unknown. It is called
	// only when one is stored; optional.
	User func(context.Context) string
}

// Begin stores a revision as pending, before the first write of its run, and
// returns its number. When the newest revision has the same content, Begin
// returns that one and writes nothing. It removes what killed runs left
// behind.
func (h History) Begin(ctx context.Context, r Revision) (int, error) {
	stored, err := h.ReadIndex(ctx)
	if err != nil {
		return 0, err
	}
	return h.BeginAfter(ctx, stored, r)
}

// BeginAfter is Begin on a history whose index was read under the same lock.
func (h History) BeginAfter(ctx context.Context, stored Index, r Revision) (int, error) {
	resources, err := r.storeResources()
	if err != nil {
		return 0, h.wrapError("encode a revision", err)
	}
	digest, err := r.digest(resources)
	if err != nil {
		return 0, h.wrapError("encode a revision", err)
	}
	if newest := stored.Newest(); newest != nil && newest.isOf(r, digest) {
		return newest.Number, nil
	}
	if err := h.cleanUp(ctx, stored); err != nil {
		return 0, err
	}
	n := stored.highest + 1
	data, err := r.encode(resources)
	if err != nil {
		return 0, h.wrapError("encode a revision", err)
	}
	about := r.summary(digest)
	if h.User != nil {
		about.Origin = about.by(h.User(ctx))
	}
	about.Origin = about.bounded()
	about.Parent = cmp.Or(h.ParentNumber, n)
	secrets, err := pack(h.Parent.ID, h.namespace(), n, about, data)
	if err != nil {
		return 0, h.wrapError("encode a revision", err)
	}
	for _, secret := range secrets {
		if _, err := h.Cluster.Create(ctx, kube.CoreKind("secrets"), secret); err != nil {
			return 0, h.wrapError(fmt.Sprintf("write revision %d", n), err)
		}
	}
	return n, nil
}

// isOf reports whether the revision has this content on this cluster; an
// unknown cluster ID matches any, so that a user who may not read it creates
// no new revision. For a revision that was not deployed, both must be the
// same rollback or none.
func (e Entry) isOf(r Revision, digest string) bool {
	if e.Status != Deployed && e.Rollback != r.Rollback {
		return false
	}
	return e.digest == digest && (e.cluster == r.Cluster || e.cluster == "" || r.Cluster == "")
}

// summary returns what a listing contains of the revision.
func (r *Revision) summary(digest string) revisionSummary {
	layers := map[string]bool{}
	for _, step := range r.Plan.Steps {
		if step.Layer != "" && step.Why.Rule != ordering.RulePrerequisite { // prerequisites go before all layers
			layers[step.Layer] = true
		}
	}
	return revisionSummary{Digest: digest, Cluster: r.Cluster, Resources: len(r.Plan.Steps), Layers: len(layers), Waves: len(r.Plan.Waves), Rollback: r.Rollback, Hooks: len(r.Hooks), Origin: r.Origin}
}

// End records how the run of a revision ended and how long it took. A deployed revision
// stays deployed, with its times, even when a later run of the same content fails. Earlier deployed
// revisions become superseded, and revisions over the limit are deleted.
func (h History) End(ctx context.Context, n int, status Status, times track.RunTimes) error {
	stored, err := h.ReadIndex(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(stored.entries, func(e Entry) bool { return e.Number == n })
	if at < 0 {
		return h.wrapError(fmt.Sprintf("mark revision %d as %s", n, status), errGone)
	}
	if e := &stored.entries[at]; e.Status != status && e.Status != Deployed {
		e.RunTimes = times
		if err := h.mark(ctx, e, status); err != nil {
			return err
		}
	}
	if stored.entries[at].Status == Deployed {
		for i := range stored.entries[:at] {
			if e := &stored.entries[i]; e.Status == Deployed {
				if err := h.mark(ctx, e, Superseded); err != nil {
					return err
				}
			}
		}
	}
	return h.trim(ctx, stored)
}

// List lists the revisions, oldest first, with one request.
func (h History) List(ctx context.Context) ([]Entry, error) {
	stored, err := h.ReadIndex(ctx)
	return stored.entries, err
}

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

// Read returns one revision. If there is no such number, the error lists those that
// exist; one that is damaged, or of a later format, is an error, too.
func (h History) Read(ctx context.Context, n int) (*Revision, error) {
	stored, err := h.ReadIndex(ctx)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, e := range stored.entries {
		if e.Number == n {
			return h.read(ctx, e)
		}
		known = append(known, fmt.Sprint(e.Number))
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("%s has no revisions", h.set())
	}
	return nil, fmt.Errorf("%s has no revision %d; it has %s", h.set(), n, strings.Join(known, ", "))
}

// View returns the view of the revisions that are deployed or pending. It
// changes whenever a revision is stored or changes its status.
func (h History) View() kube.View {
	labels := fmt.Sprintf("%s=%s,%s in (%s,%s)", setLabel, h.Parent.SetID(), StatusLabel, Pending, Deployed)
	return kube.View{Kind: kube.CoreKind("secrets"), Namespace: h.namespace(), Query: kube.Query{Labels: labels}}
}

// RevisionHooks are the Helm hooks of a revision.
type RevisionHooks struct {
	Number int
	Hooks  hooks.Hooks
}

// Hooks reads the hooks of the listed revisions, newest first. It keeps nothing else
// of them in memory.
func (h History) Hooks(ctx context.Context, entries []Entry) ([]RevisionHooks, error) {
	var out []RevisionHooks
	for _, e := range slices.Backward(entries) {
		if e.hooks == 0 {
			continue
		}
		r, err := h.read(ctx, e)
		if err != nil {
			return nil, err
		}
		out = append(out, RevisionHooks{e.Number, r.HelmHooks()})
	}
	return out, nil
}

// IsRecord reports whether an object stores a part of this history.
func (h History) IsRecord(found *unstructured.Unstructured) bool {
	return found.GetLabels()[setLabel] == h.Parent.SetID()
}

// Drop deletes all revisions.
func (h History) Drop(ctx context.Context) error {
	secrets, err := h.secrets(ctx)
	if err != nil {
		return err
	}
	for _, secret := range secrets {
		if err := h.remove(ctx, secret); err != nil {
			return err
		}
	}
	return nil
}

// Index is the metadata of a history, read with one request.
type Index struct {
	entries []Entry                              // of all complete revisions, oldest first
	chunks  map[int][]*unstructured.Unstructured // by revision, without the heads
	highest int                                  // the highest number on any Secret
}

// Newest returns the newest complete revision; nil when there is none.
func (s Index) Newest() *Entry {
	if len(s.entries) == 0 {
		return nil
	}
	return &s.entries[len(s.entries)-1]
}

// ReadIndex reads the metadata of the whole history with one request.
func (h History) ReadIndex(ctx context.Context) (Index, error) {
	s := Index{chunks: map[int][]*unstructured.Unstructured{}}
	secrets, err := h.secrets(ctx)
	if err != nil {
		return s, err
	}
	for _, secret := range secrets {
		n := numberOf(secret)
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
			s.entries = append(s.entries, e)
		}
	}
	slices.SortFunc(s.entries, func(a, b Entry) int { return cmp.Compare(a.Number, b.Number) })
	return s, nil
}

// secrets lists the metadata of all Secrets of the history.
func (h History) secrets(ctx context.Context) ([]*unstructured.Unstructured, error) {
	query := kube.Query{Labels: setLabel + "=" + h.Parent.SetID() + "," + RevisionLabel, Metadata: true}
	secrets, err := h.Cluster.List(ctx, kube.CoreKind("secrets"), h.namespace(), query)
	if err != nil {
		return nil, h.wrapError("read the history", err)
	}
	return secrets, nil
}

// read reads all chunks of a revision.
func (h History) read(ctx context.Context, e Entry) (*Revision, error) {
	doing := fmt.Sprintf("read revision %d", e.Number)
	var data bytes.Buffer
	for i := range max(1, e.chunks) {
		name := secretName(h.Parent.ID, e.Number, i)
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
	r, err := decode(data.Bytes())
	if _, later := errors.AsType[*laterFormatError](err); later {
		return nil, h.wrapError(doing, err)
	}
	if err != nil {
		return nil, h.damagedError(e, err)
	}
	r.Number, r.Created, r.Status, r.Rollback, r.Origin = e.Number, e.Created, e.Status, e.Rollback, e.Origin
	for i := range r.Resources {
		r.Resources[i].Source = fmt.Sprintf("revision %d", e.Number)
	}
	for i := range r.Hooks {
		r.Hooks[i].Source = fmt.Sprintf("revision %d", e.Number)
	}
	r.Plan.Hooks = r.HelmHooks().Planned()
	return r, nil
}

// cleanUp deletes chunks that a killed run left without a head, and marks
// pending revisions of killed runs as failed.
func (h History) cleanUp(ctx context.Context, s Index) error {
	for i := range s.entries {
		if e := &s.entries[i]; e.Status == Pending {
			if err := h.mark(ctx, e, Failed); err != nil {
				return err
			}
		}
	}
	for n, chunks := range s.chunks {
		if slices.ContainsFunc(s.entries, func(e Entry) bool { return e.Number == n }) {
			continue
		}
		for _, chunk := range chunks {
			if err := h.remove(ctx, chunk); err != nil {
				return err
			}
		}
	}
	return nil
}

// trim deletes the oldest revisions over the limit, each head before its
// chunks.
func (h History) trim(ctx context.Context, s Index) error {
	limit := h.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	last := -1 // the one that was deployed last
	for i, e := range s.entries {
		if e.Status == Deployed {
			last = i
		}
	}
	for i, e := range s.entries[:max(0, len(s.entries)-limit)] {
		if i == last {
			continue
		}
		for _, secret := range append([]*unstructured.Unstructured{e.head}, s.chunks[e.Number]...) {
			if err := h.remove(ctx, secret); err != nil {
				return err
			}
		}
	}
	return nil
}

// mark changes the status of a revision.
func (h History) mark(ctx context.Context, e *Entry, status Status) error {
	options := kube.PatchOptions{Manager: "ordapply", Force: true}
	patch, err := e.statusPatch(status)
	if err == nil {
		_, err = h.Cluster.Apply(ctx, kube.CoreKind("secrets"), patch, options)
	}
	if err != nil {
		return h.wrapError(fmt.Sprintf("mark revision %d as %s", e.Number, status), err)
	}
	e.Status = status
	return nil
}

// remove deletes one Secret, if it still exists.
func (h History) remove(ctx context.Context, secret *unstructured.Unstructured) error {
	if err := h.Cluster.Delete(ctx, kube.CoreKind("secrets"), secret, kube.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return h.wrapError("delete Secret "+secret.GetName(), err)
	}
	return nil
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
	return h.wrapError(fmt.Sprintf("read revision %d", e.Number), fmt.Errorf("%w; it cannot be restored: to continue without it, delete it (kubectl delete secret %s -n %s) and run this again",
		err, e.head.GetName(), h.namespace()))
}

func (h History) wrapError(doing string, err error) error {
	return fmt.Errorf("%s of %s: %w", doing, h.set(), err)
}

func (h History) set() string { return "apply set " + h.namespace() + "/" + h.Parent.ID.Name }

func (h History) namespace() string { return cmp.Or(h.Namespace, h.Parent.ID.Namespace) }
