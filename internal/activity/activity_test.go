package activity_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/activity"
)

func TestActivitiesInProgress(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	recorded, log := activity.Record(ctx)
	require.Empty(t, log.Now())
	prune := activity.For(recorded, "for the prune")
	_, listed := activity.Start(prune, "listing secrets")
	whole, searched := activity.Start(prune, "looking for members")
	require.Equal(t, "listing secrets for the prune", log.Now(), "it began first")
	listed()
	_, part := activity.Start(whole, "listing configmaps")
	_, other := activity.Start(activity.Unrecorded(whole), "renewing the Lease")
	require.Equal(t, "listing configmaps for the prune", log.Now(), "the part says more")
	end()
	part()
	other()
	searched()
	require.Equal(t, "listing configmaps for the prune", log.Now(), "that is what it ended with")
	_, _ = activity.Start(recorded, "marking the revision")
	require.Equal(t, "listing configmaps for the prune", log.Now())
	_, nothing := activity.Start(t.Context(), "unrecorded")
	nothing()
}

func TestWhatTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, log := activity.Record(t.Context())
		whole, _ := activity.Start(ctx, "looking for members")
		_, listed := activity.Start(whole, "listing secrets")
		time.Sleep(6 * time.Second)
		_, other := activity.Start(whole, "listing configmaps")
		time.Sleep(4 * time.Second)
		text, took, others := log.Lasting(10 * time.Second)
		require.Equal(t, "listing secrets", text, "the whole has parts")
		require.Equal(t, 10*time.Second, took)
		require.Zero(t, others)
		time.Sleep(6 * time.Second)
		_, _, others = log.Lasting(10 * time.Second)
		require.Equal(t, 1, others)
		listed()
		text, took, _ = log.Lasting(10 * time.Second)
		require.Equal(t, "listing configmaps", text)
		require.Equal(t, 10*time.Second, took)
		other()
		_, quick := activity.Start(whole, "listing services")
		text, _, _ = log.Lasting(10 * time.Second)
		require.Empty(t, text)
		quick()
	})
}
