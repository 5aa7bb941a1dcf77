package liveview

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/track"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/progress"
)

// The header counts resources that are only assumed ready.
func TestAssumedIsCounted(t *testing.T) {
	web, store := object.ID{Group: "apps", Kind: "Deployment", Name: "web"}, object.ID{Kind: "Store", Name: "main"}
	plan := &ordering.Plan{Steps: []ordering.Step{{ID: web}, {ID: store}}, Waves: make([]ordering.Wave, 1)}
	v := New(track.New(plan, start()), Options{WaveTimeout: time.Minute})
	v.Take(progress.Event{Time: start(), State: progress.Applying})
	v.Take(progress.Event{Time: start(), ID: web, State: progress.Ready})
	require.Contains(t, v.header(80, start()), ": 1 of 2 ready  ")
	v.Take(progress.Event{Time: start(), ID: store, State: progress.Ready, Assumed: true})
	require.Contains(t, v.header(80, start()), ": 2 of 2 ready (1 only assumed)  ")
}
