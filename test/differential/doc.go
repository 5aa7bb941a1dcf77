// Package differential compares `ordapply apply` with `kubectl apply --server-side`: the
// same manifests, applied by each to a cluster of its own, must leave the same objects,
// own the same fields, and be refused alike.
//
// Objects are drawn at random from the kinds in testdata, or read from examples and from the
// streams in ORDAPPLY_CORPORA. Each is created, edited three times, and in between
// written to by another field manager. A difference that no row of the table "Edits before
// sending" in docs/apply.md explains is a failure, reported with the smallest manifests
// that still show it.
//
//	make differential                                    # thousands of objects, and all streams
//	go test ./test/differential                 # some hundreds
//	ORDAPPLY_SEED=7 go test ./test/differential # others
//
// Both clusters are API servers without controllers.
package differential
