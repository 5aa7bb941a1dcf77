package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// errPortTaken: another program listens on a port that was free when it was chosen.
var errPortTaken = errors.New("address already in use")

// A death is the end of a component that should have stayed.
type death struct {
	name string
	how  error // nil: exit code 0
}

// error quotes the end of the component's log, which says more than its exit code.
func (d death) error(c *cluster) error {
	how := "exit code 0"
	if d.how != nil {
		how = d.how.Error()
	}
	log := c.lastLines(d.name)
	if strings.Contains(log, errPortTaken.Error()) {
		return fmt.Errorf("%s ended (%s): %w; the end of its log:\n%s", d.name, how, errPortTaken, log)
	}
	return fmt.Errorf("%s ended (%s); the end of its log:\n%s", d.name, how, log)
}

// lastLines is the end of a component's log, indented.
func (c *cluster) lastLines(name string) string {
	const lines = 15
	text, err := os.ReadFile(c.logFile(name))
	if err != nil {
		return "  " + err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return "  " + strings.Join(all[max(0, len(all)-lines):], "\n  ")
}

// A watch starts components and notices when one ends.
type watch struct {
	cluster *cluster
	deaths  chan death
}

func newWatch(c *cluster) *watch { return &watch{cluster: c, deaths: make(chan death, len(c.names()))} }

// start returns when every component has recorded its pid, so that nothing is under way that shutDown cannot see.
func (w *watch) start(ctx context.Context, components ...component) error {
	for _, comp := range components {
		wait, err := w.cluster.start(comp)
		if err != nil {
			return err
		}
		go func() { w.deaths <- death{comp.name, wait()} }()
	}
	for _, comp := range components {
		err := w.until(ctx, comp.name, func() string {
			if _, err := os.Stat(w.cluster.path(runDir, comp.name+".pid")); err != nil {
				return comp.name + " has not started"
			}
			return ""
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// until asks missing every 20 ms until it answers "nothing". The error names the component on which this waits, or
// the one that ended meanwhile.
func (w *watch) until(ctx context.Context, waitsFor string, missing func() string) error {
	for {
		last := missing()
		if last == "" {
			return nil
		}
		select {
		case d := <-w.deaths:
			return d.error(w.cluster)
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return errors.New("interrupted")
			}
			return fmt.Errorf("not ready in time: %s; the end of %s's log:\n%s", last, waitsFor, w.cluster.lastLines(waitsFor))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
