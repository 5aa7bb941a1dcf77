package main

import (
	"bytes"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/events"
	"github.com/ordapply/ordapply/internal/liveview"
	"github.com/ordapply/ordapply/internal/outlet"
	"github.com/ordapply/ordapply/internal/terminal"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// minFrameInterval is the minimum interval between two frames.
const minFrameInterval = 100 * time.Millisecond

// live shows a run on a terminal: the current state is redrawn, finished output
// scrolls away above it. Events are queued, so the run never waits for a
// terminal that is stopped.
type live struct {
	logReporter                // prints what remains on the screen
	stays       *bytes.Buffer  // output of the printer that is not on the terminal yet
	view        *liveview.View // with stays, owned by the goroutine of draw
	options     liveview.Options
	screen      *terminal.Screen
	terminal    *os.File
	size        [2]int // columns and rows at the last check

	mu          sync.Mutex
	happened    []func() // queue for draw
	interrupted <-chan struct{}
	ending      chan struct{}
	ended       chan struct{}
}

// logReporter is a printer's report of a run.
type logReporter interface {
	reporter
	// result prints an event on standard output.
	result(apply.Event)
}

// liveTerminal returns the terminal to draw on. It returns nil if progress goes
// elsewhere, or if a pipe or the results of -o may write to the same terminal.
func liveTerminal(cmd *cobra.Command, output string) *os.File {
	errs, ok := cmd.ErrOrStderr().(*os.File)
	if !ok || !term.IsTerminal(int(errs.Fd())) {
		return nil
	}
	if !mayDraw() {
		return nil
	}
	out := fileOf(cmd.OutOrStdout())
	if out == nil {
		return nil
	}
	info, err := out.Stat()
	switch {
	case err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0:
		return nil
	case term.IsTerminal(int(out.Fd())) && output != "text":
		return nil
	}
	return errs
}

// mayDraw reports whether the terminal supports drawing: not if TERM is empty
// or "dumb", as under cron and on Windows consoles, and not in CI.
func mayDraw() bool {
	kind := os.Getenv("TERM")
	return kind != "" && kind != "dumb" && os.Getenv("CI") == ""
}

// newLive draws on a terminal what the reporter told, p or a wrapper of it, would print.
// Results that would appear between frames are omitted, since the frames show
// them.
func newLive(cmd *cobra.Command, told logReporter, p *printer, options liveview.Options, on *os.File) *live {
	if out := fileOf(cmd.OutOrStdout()); out != nil && term.IsTerminal(int(out.Fd())) {
		p.results = noResults
	}
	l := &live{
		logReporter: told, stays: &bytes.Buffer{}, terminal: on,
		options:     options,
		screen:      terminal.NewScreen(on, os.Getenv("NO_COLOR") == ""),
		interrupted: interruptOf(cmd.Context()),
		ending:      make(chan struct{}), ended: make(chan struct{}),
	}
	l.view = liveview.New(p.plan, l.options, time.Now())
	p.err = l.stays
	return l
}

func (l *live) begin() {
	l.logReporter.begin()
	l.resized()
	go l.draw()
}

func (l *live) event(e apply.Event) {
	if e.Hook != "" {
		l.later(func() {
			if l.view.TakeHook(e); e.Log != nil || e.State.Final() || e.Detail == "" || e.ID == (object.ID{}) {
				l.logReporter.event(e) // else the frame says it
			}
		})
		return
	}
	l.result(e)
	l.later(func() { l.stays.WriteString(l.view.Take(e)) })
}

func (l *live) extend(plan *ordering.Plan) {
	l.later(func() {
		l.logReporter.extend(plan)
		l.view.Extend(plan)
	})
}

func (l *live) rollBack(revision int, plan *ordering.Plan) {
	l.later(func() {
		l.stays.WriteString(l.view.End())
		l.logReporter.rollBack(revision, plan)
		l.view = liveview.New(plan, l.options, time.Now())
	})
}

// end waits until everything is drawn, or until the terminal stops accepting
// output and the run is interrupted.
func (l *live) end(o events.Outcome) {
	l.later(func() {
		l.stays.WriteString(l.view.End())
		l.logReporter.end(o)
	})
	close(l.ending)
	outlet.Await(l.interrupted, l.ended, nil)
}

// later queues a function for the goroutine of draw.
func (l *live) later(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.happened = append(l.happened, do)
}

// catchUp runs the queued functions and reports whether there were any.
func (l *live) catchUp() bool {
	l.mu.Lock()
	happened := l.happened
	l.happened = nil
	l.mu.Unlock()
	for _, do := range happened {
		do()
	}
	return len(happened) > 0
}

// draw draws frames until the run ends: at once on the first event, and every
// second for the clocks.
func (l *live) draw() {
	defer close(l.ended)
	tick := time.NewTicker(minFrameInterval)
	defer tick.Stop()
	interrupted := l.interrupted
	stops, conts, end := suspensions()
	defer end()
	var drawn time.Time
	for {
		select {
		case <-stops:
			l.catchUp()
			l.frame(nil)
			suspend(conts)
			l.screen.Forget()
			drawn = time.Time{}
		case <-conts:
			l.screen.Forget()
			drawn = time.Time{}
		case <-l.ending:
			l.catchUp()
			l.frame(nil)
			return
		case <-interrupted:
			interrupted = nil
			l.view.Interrupt()
			drawn = time.Time{}
		case <-tick.C:
		}
		if l.catchUp() || l.resized() || time.Since(drawn) >= time.Second {
			drawn = time.Now()
			l.frame(l.view.Frame(l.size[0], l.size[1], drawn))
		}
	}
}

// resized updates the terminal's size and reports whether it changed.
func (l *live) resized() bool {
	size := [2]int{80, 24}
	if columns, rows, err := term.GetSize(int(l.terminal.Fd())); err == nil && columns > 0 && rows > 0 {
		size = [2]int{columns, rows}
	}
	changed := size != l.size
	l.size = size
	return changed
}

// frame draws a frame below the permanent output. Errors of a closed terminal
// are ignored.
func (l *live) frame(lines []terminal.Line) {
	_ = l.screen.Draw(l.stays.String(), lines, l.size[0], l.size[1])
	l.stays.Reset()
}
