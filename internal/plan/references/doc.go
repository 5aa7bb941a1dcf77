// Package references infers dependencies from the manifests of a stream: a
// Deployment needs the ConfigMap that it names, a custom resource its CRD.
//
//	ix := references.NewIndex(resources, nil)
//	for _, edge := range ix.SoftEdges() {
//		fmt.Println(ix.Resources[edge.To].ID, "needs", ix.Resources[edge.From].ID, edge.Why)
//	}
//
// There is one file for each group of rules; references to resources that are not in
// the stream make no edge.
package references
