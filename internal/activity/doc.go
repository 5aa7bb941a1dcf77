// Package activity records what a command is waiting for, so that messages
// about timeouts and slow operations can name it.
//
//	ctx, doing := activity.Record(ctx)
//	ctx, done := activity.Start(activity.For(ctx, "for the prune"), "listing configmaps")
//	defer done()
//	doing.Now() // "listing configmaps for the prune"
//	doing.Lasting(10*time.Second) // the same, once it has taken that long
//
// It also does things side by side: one beside what the caller does, or many, but not too many.
//
//	parent := activity.InBackground(func() (*unstructured.Unstructured, error) { return read(ctx, id) })
//
//	live := make([]*unstructured.Unstructured, len(ids))
//	activity.Each(len(ids), 32, func(i int) { live[i] = read(ctx, ids[i]) })
package activity
