// Package write decides what may be written to a live object, and builds the body that is sent.
//
// It keeps the labels that kapp adds to Pod templates and to selectors
// (ownershipLabelRules and labelScopingRules of
// https://github.com/carvel-dev/kapp/blob/v0.64.2/pkg/kapp/config/default.go) on the workloads
// that kapp created. To remove them from a Pod template would restart its Pods, and a
// workload's selector is immutable.
//
//	if write.KeepKappLabels(body, live) {
//		live, err = cluster.Apply(ctx, kind, body, options)
//	}
//
// It also reads the answer of an API server that rejects a PATCH as invalid: which fields are
// immutable, and which fields of other managers cannot be combined with the manifest. It makes
// no request.
//
//	if fields := write.ImmutableFields(err); len(fields) > 0 {
//		return write.ImmutableError(fields, kind) // says what to do
//	}
//	blocked := write.FindBlockers(live, sent, err, owner) // nil: nothing is in the way
//
// It also builds the object that a run sends for a manifest: the manifest as it is
// written, except for the edits that docs/apply.md lists under "Edits before sending".
//
//	bodies := write.NewStream(stream.Objects, set, kube.KindsOf(cluster))
//	body, err := bodies.Body(manifest)
//	live, err := write.Apply(ctx, cluster, kind, body, kube.PatchOptions{Manager: "ordapply"})
//
// It also decides which live objects a run may write, by the apply set that they
// are members of (KEP-3659), and whose fields it may take over, by their field managers.
//
//	owner := write.Owner{Manager: "ordapply:shop", Membership: applyset.Membership{Set: id}}
//	if err := owner.MembershipError(live, write.NewSetFinder(ctx, cluster)); err != nil { // belongs to another set
//
// It also reads and changes the values of an object by the field paths of its
// managedFields. It makes no request.
//
//	owned := write.OwnedBy(live, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == "helm" })
//	write.Drop(live.Object, nil, owned, &fieldpath.Set{})
package write
