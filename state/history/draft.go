package history

// Draft is the content of a revision, ready to be stored.
type Draft struct {
	revision   Revision
	digest     string
	data       []byte   // encoded; nil if it need not be stored
	namespaces []string // that keep values which data does not have
}

// Cluster returns the ID of the cluster of the revision.
func (d Draft) Cluster() string { return d.revision.Cluster }

// NewDraft returns the draft of a revision, which is not encoded yet. Its Record may follow.
func (h History) NewDraft(r Revision) (Draft, error) {
	digest, err := r.digest()
	if err != nil {
		return Draft{}, h.wrapError("encode a revision", err)
	}
	return Draft{revision: r, digest: digest}, nil
}

// Encode encodes a draft for BeginAfter, unless a history has its content already. It makes no
// request. cluster is the ID of the cluster.
func (h History) Encode(stored Index, draft Draft, cluster string) (Draft, error) {
	draft.revision.Cluster = cluster
	if h.isStored(stored.Newest(), draft) {
		return draft, nil
	}
	return h.encoded(draft)
}

// isStored reports whether the newest revision, nil for none, has the content of a draft.
func (h History) isStored(newest *Entry, draft Draft) bool {
	return newest != nil && h.Vouchers != nil && newest.isOf(draft.revision, draft.digest)
}

// encoded returns a draft with its data.
func (h History) encoded(draft Draft) (_ Draft, err error) {
	if draft.data == nil {
		draft.data, draft.namespaces, err = h.encode(draft.revision)
	}
	if err != nil {
		return Draft{}, h.wrapError("encode a revision", err)
	}
	return draft, nil
}
