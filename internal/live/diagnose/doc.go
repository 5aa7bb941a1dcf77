// Package diagnose asks the cluster why a resource is not ready, or not deleted: its
// conditions, its Pods with their logs and events, its volumes and backends, the finalizers
// that keep it. It only reads, with a bounded number of requests, and hides the values of
// Secrets in its findings.
//
//	q := &diagnose.Diagnoser{
//		Cluster: cluster, Now: time.Now(), RequestsLeft: diagnose.MaxRequests,
//		EventsRead: map[types.UID]bool{}, KnownSecrets: map[object.ID]bool{},
//	}
//	d := q.Diagnose(ctx, id, live, nil) // d.Cause is "Pod shop/api-x: container api: CrashLoopBackOff, exit code 1"
//
// It also finds objects that would be deleted only because their Namespace or
// CustomResourceDefinition is: objects of others. Objects that are deleted in the
// same run, or that Kubernetes generates, do not count.
//
//	search := diagnose.Search{Cluster: cluster, Deleting: uidsOfThisRun}
//	foreign, err := search.OnlyDeletedWith(ctx, namespace) // e.g. ConfigMap shop/theirs
package diagnose
