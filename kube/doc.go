// Package kube is the client of an API server that the other packages use: the few
// requests they make, behind the interface Cluster, and Kubernetes, which makes them
// over the network. It reads discovery, opens watches again, reports retries, and lets
// no request that writes pass a fence (see Cluster.Fenced). It decides nothing.
//
//	cluster, err := kube.Connect(config)
//	kind, served := cluster.Kind(gvk)
//	live, err := cluster.Get(ctx, kind, "shop", "web")
package kube
