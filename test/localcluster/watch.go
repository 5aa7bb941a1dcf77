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
	cluster  *cluster
	deaths   chan death
	restarts int // of kwok
}

func newWatch(c *cluster) *watch {
	return &watch{cluster: c, deaths: make(chan death, len(c.names())+maxRestarts)}
}

// maxRestarts bounds how often a cluster's kwok is started again.
const maxRestarts = 5

// mend is nil when the dead process runs again. Only kwok is: two of its controllers set up CEL
// at the same moment when it starts, and v0.8.0 has a race there that ends it once in a great
// while. It keeps only state from the server, so that a new one goes on where it ended.
func (w *watch) mend(d death) error {
	err := d.error(w.cluster)
	if d.name != kwok || errors.Is(err, errPortTaken) || w.restarts == maxRestarts {
		return err
	}
	w.restarts++
	for _, comp := range w.cluster.controllers() {
		if comp.name == kwok {
			return w.run(comp)
		}
	}
	return err
}

// run starts a component and sends its end to deaths.
func (w *watch) run(comp component) error {
	wait, err := w.cluster.start(comp)
	if err == nil {
		go func() { w.deaths <- death{comp.name, wait()} }()
	}
	return err
}

// start returns when every component has recorded its pid, so that nothing is under way that shutDown cannot see.
func (w *watch) start(ctx context.Context, components ...component) error {
	for _, comp := range components {
		if err := w.run(comp); err != nil {
			return err
		}
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

// until asks missing every 20 ms until it returns "". The error names the awaited component, or the
// one that ended meanwhile for good.
func (w *watch) until(ctx context.Context, waitsFor string, missing func() string) error {
	for {
		last := missing()
		if last == "" {
			return nil
		}
		select {
		case d := <-w.deaths:
			if err := w.mend(d); err != nil {
				return err
			}
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return errors.New("interrupted")
			}
			return fmt.Errorf("not ready in time: %s; the end of %s's log:\n%s", last, waitsFor, w.cluster.lastLines(waitsFor))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stay returns when ctx ends, when `localcluster down` ended the cluster, or why the cluster is none any longer.
func (w *watch) stay(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case d := <-w.deaths:
			if _, err := os.Stat(w.cluster.path(runDir)); err != nil {
				return nil
			}
			if err := w.mend(d); err != nil {
				return err
			}
		}
	}
}
