package diagnose

import (
	"context"
	"sync"
)

// Turns runs the diagnoses of a run side by side: MaxDiagnosed resources at most,
// MaxConcurrent at a time, each within Timeout.
type Turns struct {
	asking sync.WaitGroup
	slots  chan struct{}
	given  int
}

// NewTurns returns the turns of one run.
func NewTurns() *Turns { return &Turns{slots: make(chan struct{}, MaxConcurrent)} }

// Left reports whether another resource may be diagnosed.
func (t *Turns) Left() bool { return t.given < MaxDiagnosed }

// Go calls ask for one resource as soon as there is a turn.
func (t *Turns) Go(ctx context.Context, ask func(context.Context)) {
	t.given++
	t.asking.Go(func() {
		t.slots <- struct{}{}
		defer func() { <-t.slots }()
		ctx, cancel := context.WithTimeout(ctx, Timeout)
		defer cancel()
		ask(ctx)
	})
}

// Wait waits for all of them.
func (t *Turns) Wait() { t.asking.Wait() }
