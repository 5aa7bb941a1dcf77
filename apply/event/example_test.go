package event_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// The error of a run joins one Error for each resource that failed.
func ExampleError() {
	database := object.ID{Group: "apps", Kind: "StatefulSet", Namespace: "shop", Name: "db"}
	late := &event.TimeoutError{After: 5 * time.Minute, Scope: "wave", Last: "0 of 1 replicas are ready"}
	err := errors.Join(&event.Error{Wave: "wave 2/3 (data)", Op: event.OpWait, ID: database, Err: late})

	fmt.Println(err)
	for _, one := range ordering.FlattenErrors(err) {
		var failure *event.Error
		var timeout *event.TimeoutError
		if errors.As(one, &failure) && errors.As(one, &timeout) {
			fmt.Println("wait longer than", timeout.After, "for", failure.ID)
		}
	}
	// Output:
	// wave 2/3 (data): wait for StatefulSet shop/db: not ready after 5m0s (--wave-timeout): 0 of 1 replicas are ready
	// wait longer than 5m0s for StatefulSet shop/db
}
