// Package request has the requests of a run about its own objects, and judges the answers.
//
// It reads the live objects of a stream, with one LIST for each kind and
// namespace, and proves which of them a PATCH would not change.
//
//	reader := request.NewReader(cluster, owner, plan, manifests, assessor, 32)
//	objects, _ := reader.Read(ctx, 0)
//	if objects[0].Live != nil && reader.IsUnchanged(0, objects[0]) { // need not be sent
//
// The lists have no label selector, although watches select by the set's label: objects to
// adopt, of other sets, or without their label must be found as well. Without a label, a list
// of all namespaces would contain everything in the cluster.
//
// It also judges the status of objects that a run has applied, as far as it can be
// trusted yet.
//
//	applied := request.Applied{Manifest: manifest, HasStatus: kind.HasStatus}
//	applied.Start(live, false)
//	applied.RecordChange(before, live, true)
//	verdict, again := request.Judge{Health: assessor, Grace: 15 * time.Second}.Assess(applied, live)
//
// A status describes a spec, and not always the newest one. The status of a
// custom resource right after the run changed it may describe the spec
// before, and the first status may say nothing. The run waits up to the
// status grace for a better one, and then uses the status as it is.
//
// It also sends the requests of a run about one resource: its PATCH, the PATCH that makes room
// for it, the migration of fields, and the deletion before a recreation.
//
//	sender := request.Sender{Cluster: cluster, Owner: owner}
//	answer, err := sender.Send(ctx, request.Request{Op: request.Patch, Kind: kind, Object: manifest, Bodies: bodies, Options: options})
package request
