package activity

import "golang.org/x/sync/errgroup"

// InBackground starts a computation, and returns a function that waits for its result; it may be called
// several times.
func InBackground[T any](compute func() (T, error)) func() (T, error) {
	var result T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = compute()
	}()
	return func() (T, error) {
		<-done
		return result, err
	}
}

// Each calls do for 0 to n-1, at most limit of them at a time, and returns when all have
// returned. They start in this order.
func Each(n, limit int, do func(i int)) {
	var group errgroup.Group
	group.SetLimit(limit)
	for i := range n {
		group.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = group.Wait() // do returns no error
}
