// Package arrange decides the position of each resource in the text of a stamped stream:
// one block for each layer, and resources that no selector matched before the first
// resource that needs them.
//
//	plan := stream.Plan()
//	sorted, reasons := stream.Sort(plan)
//
// It also writes an order in the annotations in which Argo CD, kpt and kapp read
// one, for use without ordapply.
//
//	e := arrange.NewEmitter(stream, stream.Plan())
//	set, tools := e.Annotations(0) // {"argocd.argoproj.io/sync-wave": "2"}, ["argocd"]
package arrange
