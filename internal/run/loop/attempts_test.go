package loop

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/kube"
)

func TestDelivery(t *testing.T) {
	unsent := kube.NotSentError{Err: errors.New("no connection")}
	var d Delivery
	d.Start()
	require.Equal(t, InFlight, d)
	d.Answered(unsent)
	require.Equal(t, NotSent, d)

	d.Start()
	d.Answered(context.DeadlineExceeded)
	require.Equal(t, MayHaveArrived, d)
	d.Start()
	d.Answered(unsent)
	require.Equal(t, MayHaveArrived, d, "the attempt before may have arrived")
}
