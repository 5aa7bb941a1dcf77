package report

import (
	"bytes"
	"context"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/internal/view/terminal"
)

// minFrameInterval is the minimum interval between two frames.
const minFrameInterval = 100 * time.Millisecond

// live shows a run on a terminal: the current state is redrawn, finished output
// scrolls away above it. Events are queued, so the run never waits for a
// terminal that is stopped.
type live struct {
	logReporter                // prints the lasting lines
	stays       *bytes.Buffer  // output of the printer that is not on the terminal yet
	held        int            // the length of stays that is held back until something is added; 0: none
	heldUntil   time.Time      // the latest time of that
	view        *terminal.View // with stays, owned by the goroutine of draw
	options     terminal.ViewOptions
	screen      *terminal.Screen
	terminal    *os.File
	size        [2]int // columns and rows at the last check

	mu          sync.Mutex
	queue       []func() // for the goroutine of draw
	interrupted <-chan struct{}
	ending      chan struct{}
	ended       chan struct{}
}

// logReporter is a printer's report of a run.
type logReporter interface {
	Reporter
	// result prints an event on standard output.
	result(track.Transition)
	// isNews reports whether an event of a resource says more than that it is unchanged.
	isNews(track.Transition) bool
}

// liveTerminal returns the terminal to draw on. It returns nil if progress goes
// elsewhere, or if a pipe or the results of -o may write to the same terminal.
func liveTerminal(c *console.Console, output string) *os.File {
	errs, ok := c.Err.(*os.File)
	if !ok || !term.IsTerminal(int(errs.Fd())) {
		return nil
	}
	if !terminal.MayDraw() {
		return nil
	}
	out := files.FileOf(c.Out)
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

// newLive draws the output of the reporter lines, p or a wrapper of it, on a terminal.
// Results that would appear between frames are omitted, since the frames show them.
func newLive(ctx context.Context, c *console.Console, lines logReporter, p *printer, options terminal.ViewOptions, on *os.File) *live {
	if out := files.FileOf(c.Out); out != nil && term.IsTerminal(int(out.Fd())) {
		p.results = noResults
	}
	l := &live{
		logReporter: lines, stays: &bytes.Buffer{}, terminal: on,
		options:     options,
		screen:      terminal.NewScreen(on, os.Getenv("NO_COLOR") == ""),
		interrupted: interruptOf(ctx),
		ending:      make(chan struct{}), ended: make(chan struct{}),
	}
	p.err, p.shade = l.stays, l.screen.Shade
	if p.first != nil {
		p.first = l
	}
	return l
}

// Begin implements Reporter. The view has a tracker of its own, since frames are drawn
// by another goroutine, some time after the events.
func (l *live) Begin(run *track.Tracker) {
	l.logReporter.Begin(run)
	l.view = terminal.NewView(track.New(run.Plan, run.Started), l.options)
	l.resized()
	go l.draw()
}

// Event implements Reporter.
func (l *live) Event(t track.Transition) {
	l.result(t)
	l.later(func() {
		quiet := l.isHolding() && !l.isNews(t)
		l.keep(l.view.Take(t.Event))
		if l.held = 0; quiet { // a wave without changes adds no line either
			l.held = l.stays.Len()
		}
		if t.Hook != nil && t.Kind != track.Progressed { // else the frame says it
			l.logReporter.Event(t)
		}
	})
}

// Extend implements Reporter.
func (l *live) Extend(more track.Extension) {
	l.later(func() {
		l.logReporter.Extend(more)
		l.view.Extend(more.Plan)
	})
}

// RollBack implements Reporter.
func (l *live) RollBack(revision int, run *track.Tracker) {
	run = track.New(run.Plan, run.Started)
	l.later(func() {
		l.keep(l.view.End())
		l.logReporter.RollBack(revision, run)
		l.view = terminal.NewView(run, l.options)
	})
}

// End implements Reporter. It waits until everything is drawn, or until the terminal stops
// accepting output and the run is interrupted.
func (l *live) End(o events.Outcome) {
	l.later(func() {
		l.keep(l.view.End())
		l.logReporter.End(o)
		l.held = 0
	})
	close(l.ending)
	files.AwaitWriter(l.interrupted, l.ended, nil)
}

// Hold implements holder.
func (l *live) Hold(text []byte, most time.Duration) {
	l.stays.Write(text)
	l.held, l.heldUntil = l.stays.Len(), time.Now().Add(most)
}

// Drop implements holder.
func (l *live) Drop() bool {
	if !l.isHolding() {
		return false
	}
	l.held = 0
	l.stays.Reset()
	return true
}

// isHolding reports whether all permanent lines are held back.
func (l *live) isHolding() bool {
	return l.held > 0 && l.held == l.stays.Len() && time.Now().Before(l.heldUntil)
}

// keep adds permanent lines.
func (l *live) keep(lines []terminal.Line) {
	for _, line := range lines {
		l.stays.WriteString(l.screen.Shade(line) + "\n")
	}
}

// later queues a function for the goroutine of draw.
func (l *live) later(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, do)
}

// catchUp runs the queued functions and reports whether there were any.
func (l *live) catchUp() bool {
	l.mu.Lock()
	queue := l.queue
	l.queue = nil
	l.mu.Unlock()
	for _, do := range queue {
		do()
	}
	return len(queue) > 0
}

// draw draws frames until the run ends: at once on the first event, and every
// second for the clocks.
func (l *live) draw() {
	defer close(l.ended)
	tick := time.NewTicker(minFrameInterval)
	defer tick.Stop()
	interrupted := l.interrupted
	stops, conts, end := terminal.Suspensions()
	defer end()
	var drawn time.Time
	for {
		select {
		case <-stops:
			l.catchUp()
			l.frame(nil)
			terminal.Suspend(conts)
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

// aboveFrames writes lasting lines above the frames.
type aboveFrames struct{ *live }

// Write implements io.Writer.
func (a aboveFrames) Write(text []byte) (int, error) {
	text = bytes.Clone(text)
	a.later(func() { a.stays.Write(text) })
	return len(text), nil
}

// frame draws a frame below the permanent output. Errors of a closed terminal
// are ignored.
func (l *live) frame(lines []terminal.Line) {
	lasting := ""
	if !l.isHolding() {
		lasting, l.held = l.stays.String(), 0
		l.stays.Reset()
	}
	_ = l.screen.Draw(lasting, lines, l.size[0], l.size[1])
}
