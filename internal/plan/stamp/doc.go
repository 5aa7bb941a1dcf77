// Package stamp writes a SortOrder's decision about a resource as annotations, and reads
// it back: the whole contract between package fn and package ordering/planner.
//
//	annotations := stamp.Stamp{Order: "shop", Layer: "data", Wave: 1}.Annotations()
//	s, stamped, err := stamp.Read(annotations) // s.LayerName() is "shop/data"
//
// It also lists the tools for which a SortOrder can emit its order, and the
// annotations in which they read one.
//
//	stamp.Belongs(stamp.ArgoCD, "argocd.argoproj.io/sync-wave") // true
package stamp
