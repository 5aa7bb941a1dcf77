package terminal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// The header counts resources that are only assumed ready.
func TestAssumedIsCounted(t *testing.T) {
	web, store := object.ID{Group: "apps", Kind: "Deployment", Name: "web"}, object.ID{Kind: "Store", Name: "main"}
	plan := &ordering.Plan{Steps: []ordering.Step{{ID: web}, {ID: store}}, Waves: make([]ordering.Wave, 1)}
	v := NewView(track.New(plan, start()), ViewOptions{WaveTimeout: time.Minute})
	v.Take(event.Event{Time: start(), State: event.Applying})
	v.Take(event.Event{Time: start(), ID: web, State: event.Ready})
	require.Contains(t, v.header(80, start()), ": 1 of 2 ready  ")
	v.Take(event.Event{Time: start(), ID: store, State: event.Ready, Assumed: true})
	require.Contains(t, v.header(80, start()), ": 2 of 2 ready (1 only assumed)  ")
}
