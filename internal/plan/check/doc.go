// Package check finds manifests that the API server is certain to reject.
//
// It finds custom resources that the stream's own CustomResourceDefinitions do not
// serve, or whose fields they reject.
//
//	err := check.Unserved(index, nil, nil) // shop.example/v2 where the CRD serves v1
//	invalid := check.Rejected(index)[id]   // spec.size must be of type integer
//
// It also finds certain errors in manifests of Kubernetes' own kinds, which the
// API server reports too late or without the place.
//
//	if err := check.Native(id, manifest.Object); err != nil { ... }
package check
