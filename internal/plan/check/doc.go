// Package check finds manifests that the API server is certain to reject.
//
// It compares the custom resources of a stream with the stream's own
// CustomResourceDefinitions: which of them the API server will not serve, and which it
// will reject.
//
//	err := check.Unserved(index, nil, nil) // shop.example/v2 where the CRD serves v1
//	invalid := check.Rejected(index)[id]   // spec.size must be of type integer
//
// It also finds what the API server certainly rejects in a manifest of a kind of
// Kubernetes itself, and answers in words that do not name the place, or too late.
//
//	if err := check.Native(id, manifest.Object); err != nil { ... }
package check
