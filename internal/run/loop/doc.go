// Package loop is the event loop of a run: one goroutine decides, workers send, watches report.
//
// It decides when a step of a run may start: when everything that it waits for has
// passed a gate.
//
//	g := loop.NewGraph(nodes)
//	g.Add(database, loop.Edge{To: app, Gate: ordering.Ready}) // app waits until database is ready
//	g.Hold(app)                          // and for its wave
//	open := g.Release(app)               // its wave is open; the database is not ready
//	for _, e := range g.From(database) { // now it is
//		open = g.Release(e.To)
//	}
//
// The nodes are numbered. A node that may start is reported once.
//
// It also reports the changes of the objects that the steps of a run wait for: by as
// few watches as possible, and by reads where watching is forbidden.
//
//	watches := loop.NewWatches(&loop, cluster, set, loop.WatchRun{Object: objectOf, OnChange: handle, …})
//	watches.Count(step, id) // before the first Follow, for each step
//	watches.Follow(step)    // OnChange is called with its changes
//	watches.Unfollow(step)  // ends a watch that nothing follows any more
//
// The loop is shared by an apply and a deletion: workers send requests,
// watches and timers send functions, and one goroutine calls these one after the other.
//
//	l.StartWorkers(ctx, 32)
//	l.Enqueue(func(ctx context.Context) func() { // in a worker
//		answer := send(ctx)
//		return func() { handle(answer) } // in the loop
//	})
//	l.RunLoop(ctx, advance)
//
// It also measures the timeouts of layers. A layer's timeout bounds the time in which
// any of its resources is being applied or waited for; while the layer waits for other layers,
// its clock is stopped.
//
//	clocks := loop.NewClocks(&loop, plan, func(layer int) { … }) // called when a layer's time is over
//	clocks.Start(step)
//	clocks.Stop(step)
package loop
