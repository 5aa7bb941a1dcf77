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
	"github.com/ordapply/ordapply/ordering"
)

// frameEvery is the shortest time between two frames.
const frameEvery = 100 * time.Millisecond

// live tells a run on a terminal: what is going on is drawn anew again and
// again, what is over scrolls away above. The run never waits for it: events
// pile up while the terminal is stopped.
type live struct {
	account                 // of what stays
	stays    *bytes.Buffer  // what the printer printed and is not on the terminal yet
	view     *liveview.View // with stays, owned by the goroutine of draw
	options  liveview.Options
	screen   *terminal.Screen
	terminal *os.File
	size     [2]int // columns and rows, as last seen

	mu          sync.Mutex
	happened    []func() // what waits for draw to do it
	interrupted <-chan struct{}
	ending      chan struct{}
	ended       chan struct{}
}

// account is what a printer tells of a run.
type account interface {
	teller
	// result prints what a transition means to those who read standard output.
	result(apply.Event)
}

// liveTerminal is the terminal to draw on; nil when progress goes elsewhere, or
// something else may write there: what a pipe feeds, or the results that -o
// asks for.
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

// mayDraw reports whether a terminal understands what draws on it: not where TERM names
// none, as under cron and on consoles of Windows, nor in CI.
func mayDraw() bool {
	kind := os.Getenv("TERM")
	return kind != "" && kind != "dumb" && os.Getenv("CI") == ""
}

// newLive draws on a terminal what told, which is p or made of it, would print
// there. Results that would appear between the frames are left out: the frames
// say it.
func newLive(cmd *cobra.Command, told account, p *printer, options liveview.Options, on *os.File) *live {
	if out := fileOf(cmd.OutOrStdout()); out != nil && term.IsTerminal(int(out.Fd())) {
		p.results = noResults
	}
	l := &live{
		account: told, stays: &bytes.Buffer{}, terminal: on,
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
	l.account.begin()
	l.resized()
	go l.draw()
}

func (l *live) event(e apply.Event) {
	if e.Hook != "" {
		l.later(func() { l.account.event(e) })
		return
	}
	l.result(e)
	l.later(func() { l.stays.WriteString(l.view.Take(e)) })
}

func (l *live) extend(plan *ordering.Plan) {
	l.later(func() {
		l.account.extend(plan)
		l.view.Extend(plan)
	})
}

func (l *live) rollBack(revision int, plan *ordering.Plan) {
	l.later(func() {
		l.stays.WriteString(l.view.End())
		l.account.rollBack(revision, plan)
		l.view = liveview.New(plan, l.options, time.Now())
	})
}

// end waits until all is drawn, as long as the terminal takes it.
func (l *live) end(o events.Outcome) {
	l.later(func() {
		l.stays.WriteString(l.view.End())
		l.account.end(o)
	})
	close(l.ending)
	outlet.Await(l.interrupted, l.ended, nil)
}

// later lets the goroutine of draw do something.
func (l *live) later(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.happened = append(l.happened, do)
}

// catchUp does what was put off, and tells whether there was anything.
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

// draw draws frames until the run ends, at once after the first that something
// happened, and every second for the clocks in them.
func (l *live) draw() {
	defer close(l.ended)
	tick := time.NewTicker(frameEvery)
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

// resized notes the terminal's size, and tells whether it is new.
func (l *live) resized() bool {
	size := [2]int{80, 24}
	if columns, rows, err := term.GetSize(int(l.terminal.Fd())); err == nil && columns > 0 && rows > 0 {
		size = [2]int{columns, rows}
	}
	changed := size != l.size
	l.size = size
	return changed
}

// frame draws a frame below what stays. A terminal that is gone takes nothing,
// and that ends nothing.
func (l *live) frame(lines []terminal.Line) {
	_ = l.screen.Draw(l.stays.String(), lines, l.size[0], l.size[1])
	l.stays.Reset()
}
