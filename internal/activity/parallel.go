package activity

import "sync"

// Each calls do for 0 to n-1, at most limit of them at a time, and returns when all have
// returned. They start in this order.
func Each(n, limit int, do func(i int)) {
	var group sync.WaitGroup
	places := make(chan struct{}, limit)
	for i := range n {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			do(i)
		})
	}
	group.Wait()
}
