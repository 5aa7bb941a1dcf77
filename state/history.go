package state

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
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/applyset"
)

// DefaultLimit is how many revisions are kept where nobody says.
const DefaultLimit = 10

// History is the revisions of an apply set. They are kept in Secrets beside its
// parent, which are not members of the set. Whoever writes holds the set's lock.
type History struct {
	Cluster Cluster         // required
	Parent  applyset.Parent // required
	// Namespace is where it is kept; default the parent's.
	Namespace string
	// Limit is how many revisions are kept, default DefaultLimit. The one that
	// was deployed last is kept in any case.
	Limit int

	// kept is the number that the parent carries when the run of the next revision
	// need not write it before its members; 0: it writes it.
	kept int
}

// Begin stores a revision as pending, before the first write of its run, and
// gives its number. When the newest revision has the same content, it is the
// one, and nothing is written. What killed runs left is cleared away.
func (h History) Begin(ctx context.Context, r Revision) (int, error) {
	stored, err := h.stock(ctx)
	if err != nil {
		return 0, err
	}
	return h.begin(ctx, stored, r)
}

// begin is Begin on a history whose metadata was read under the same lock.
func (h History) begin(ctx context.Context, stored stock, r Revision) (int, error) {
	resources, err := r.storeResources()
	if err != nil {
		return 0, h.fault("encode a revision", err)
	}
	digest, err := r.digest(resources)
	if err != nil {
		return 0, h.fault("encode a revision", err)
	}
	if newest := stored.newest(); newest != nil && newest.isOf(r, digest) {
		return newest.Number, nil
	}
	if err := h.clear(ctx, stored); err != nil {
		return 0, err
	}
	n := stored.highest + 1
	data, err := r.encode(resources)
	if err != nil {
		return 0, h.fault("encode a revision", err)
	}
	about := r.about(digest)
	about.Parent = cmp.Or(h.kept, n)
	secrets, err := pack(h.Parent.ID, h.namespace(), n, about, data)
	if err != nil {
		return 0, h.fault("encode a revision", err)
	}
	for _, secret := range secrets {
		if _, err := h.Cluster.Create(ctx, secretKind(), secret); err != nil {
			return 0, h.fault(fmt.Sprintf("write revision %d", n), err)
		}
	}
	return n, nil
}

// isOf tells whether the revision has this content, as far as is known on this
// cluster: an account that may not read a cluster's identity makes no new one.
// One that did not get through stays what it was, a rollback or none.
func (e Entry) isOf(r Revision, digest string) bool {
	if e.Status != Deployed && e.Rollback != r.Rollback {
		return false
	}
	return e.digest == digest && (e.cluster == r.Cluster || e.cluster == "" || r.Cluster == "")
}

// about is what a listing tells of the revision.
func (r *Revision) about(digest string) about {
	layers := map[string]bool{}
	for _, step := range r.Plan.Steps {
		if step.Layer != "" && step.Why.Rule != "prerequisite" { // those went before all layers
			layers[step.Layer] = true
		}
	}
	return about{Digest: digest, Cluster: r.Cluster, Resources: len(r.Plan.Steps), Layers: len(layers), Waves: len(r.Plan.Waves), Rollback: r.Rollback, Hooks: len(r.Hooks)}
}

// End records how the run of a revision ended. One that is deployed stays so:
// a later run of the same content that failed does not undo that it was. The
// deployed ones before it are superseded, and what is over the limit is dropped.
func (h History) End(ctx context.Context, n int, status Status) error {
	stored, err := h.stock(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(stored.entries, func(e Entry) bool { return e.Number == n })
	if at < 0 {
		return h.fault(fmt.Sprintf("mark revision %d as %s", n, status), errGone)
	}
	if e := &stored.entries[at]; e.Status != status && e.Status != Deployed {
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

// List lists the revisions, the oldest first.
func (h History) List(ctx context.Context) ([]Entry, error) {
	stored, err := h.stock(ctx)
	return stored.entries, err
}

// Last reads the newest revision that has one of these statuses, or any where
// none is given; nil when there is none.
func (h History) Last(ctx context.Context, statuses ...Status) (*Revision, error) {
	stored, err := h.stock(ctx)
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

// Read reads one revision. The error is for whoever asked for the number.
func (h History) Read(ctx context.Context, n int) (*Revision, error) {
	stored, err := h.stock(ctx)
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

// stock is what is stored of a history.
type stock struct {
	entries []Entry                              // of all whole revisions, the oldest first
	chunks  map[int][]*unstructured.Unstructured // by revision, without the heads
	highest int                                  // the highest number that any Secret bears
}

func (s stock) newest() *Entry {
	if len(s.entries) == 0 {
		return nil
	}
	return &s.entries[len(s.entries)-1]
}

// stock reads the metadata of all that there is: one request.
func (h History) stock(ctx context.Context) (stock, error) {
	s := stock{chunks: map[int][]*unstructured.Unstructured{}}
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
				return s, h.fault("read the history", err)
			}
			s.entries = append(s.entries, e)
		}
	}
	slices.SortFunc(s.entries, func(a, b Entry) int { return cmp.Compare(a.Number, b.Number) })
	return s, nil
}

// secrets are the metadata of all Secrets of the history.
func (h History) secrets(ctx context.Context) ([]*unstructured.Unstructured, error) {
	query := apply.Query{Labels: setLabel + "=" + h.Parent.SetID() + "," + revisionLabel, Metadata: true}
	secrets, err := h.Cluster.List(ctx, secretKind(), h.namespace(), query)
	if err != nil {
		return nil, h.fault("read the history", err)
	}
	return secrets, nil
}

// read reads all chunks of a revision.
func (h History) read(ctx context.Context, e Entry) (*Revision, error) {
	doing := fmt.Sprintf("read revision %d", e.Number)
	var data bytes.Buffer
	for i := range max(1, e.chunks) {
		name := secretName(h.Parent.ID, e.Number, i)
		secret, err := h.Cluster.Get(ctx, secretKind(), h.namespace(), name)
		if apierrors.IsNotFound(err) {
			return nil, h.lost(ctx, e, name)
		}
		if err != nil {
			return nil, h.fault(doing, err)
		}
		part, err := unpack(secret)
		if err != nil {
			return nil, h.damaged(e, err)
		}
		data.Write(part)
	}
	r, err := decode(data.Bytes())
	if _, later := errors.AsType[*laterFormatError](err); later {
		return nil, h.fault(doing, err)
	}
	if err != nil {
		return nil, h.damaged(e, err)
	}
	r.Number, r.Created, r.Status, r.Rollback = e.Number, e.Created, e.Status, e.Rollback
	for i := range r.Resources {
		r.Resources[i].Source = fmt.Sprintf("revision %d", e.Number)
	}
	for i := range r.Hooks {
		r.Hooks[i].Source = fmt.Sprintf("revision %d", e.Number)
	}
	r.Plan.Hooks = r.hooks().Planned()
	return r, nil
}

// clear removes chunks that a killed writer left without a head, and marks as
// failed what a killed run left pending.
func (h History) clear(ctx context.Context, s stock) error {
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

// trim drops the oldest revisions over the limit, each head before its chunks.
func (h History) trim(ctx context.Context, s stock) error {
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
	options := apply.PatchOptions{Manager: "ordapply", Force: true}
	if _, err := h.Cluster.Apply(ctx, secretKind(), marked(e.head, status), options); err != nil {
		return h.fault(fmt.Sprintf("mark revision %d as %s", e.Number, status), err)
	}
	e.Status = status
	return nil
}

// remove deletes one Secret; it may be gone already.
func (h History) remove(ctx context.Context, secret *unstructured.Unstructured) error {
	if err := h.Cluster.Delete(ctx, secretKind(), secret, apply.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return h.fault("delete Secret "+secret.GetName(), err)
	}
	return nil
}

// errGone says of a revision that all of it was deleted after it was listed: by
// another run, or with its Namespace.
var errGone = errors.New("somebody deleted it meanwhile")

// lost is what a revision's Secret means that is not there: without its head
// nothing is left of it.
func (h History) lost(ctx context.Context, e Entry, name string) error {
	_, err := h.Cluster.Get(ctx, secretKind(), h.namespace(), e.head.GetName())
	if apierrors.IsNotFound(err) {
		return h.fault(fmt.Sprintf("read revision %d", e.Number), errGone)
	}
	return h.damaged(e, fmt.Errorf("Secret %s, a part of it, is gone", name))
}

// damaged says of a revision of which not all can be read how to go on without
// it: by the older ones, and by what the objects themselves say.
func (h History) damaged(e Entry, err error) error {
	return h.fault(fmt.Sprintf("read revision %d", e.Number), fmt.Errorf("%w; nobody can restore it: to do without it, delete it (kubectl delete secret %s -n %s) and run this again",
		err, e.head.GetName(), h.namespace()))
}

func (h History) fault(doing string, err error) error {
	return fmt.Errorf("%s of %s: %w", doing, h.set(), err)
}

func (h History) set() string { return "apply set " + h.namespace() + "/" + h.Parent.ID.Name }

func (h History) namespace() string { return cmp.Or(h.Namespace, h.Parent.ID.Namespace) }

func secretKind() apply.Kind {
	return apply.Kind{Resource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Namespaced: true}
}
