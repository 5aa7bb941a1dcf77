// Package emit writes an order in the annotations in which Argo CD, kpt and kapp read
// one, for use without ordapply.
//
//	e := emit.New(stream, stream.Plan())
//	set, tools := e.Annotations(0) // {"argocd.argoproj.io/sync-wave": "2"}, ["argocd"]
package arrange
