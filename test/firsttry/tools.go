package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/test/appliers"
)

// tool is another program, which is tried in the orders in which ordapply is.
type tool struct {
	appliers.Applier
	path  string
	flags []string
}

// toolsNamed returns the programs with these names, separated by commas, and the names of
// those that are not built.
func toolsNamed(names string) (found []tool, missing []string, err error) {
	known := appliers.All()
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' }) {
		at := slices.IndexFunc(known, func(a appliers.Applier) bool { return a.Name == name })
		if at < 0 {
			return nil, nil, fmt.Errorf("no tool is called %q; known: %s", name, strings.Join(toolNames(known), ", "))
		}
		t := tool{Applier: known[at]}
		if name == "kubectl" || name == "kapply" { // client-side, large CustomResourceDefinitions do not fit into their annotation
			t.flags = []string{"--server-side"}
		}
		if t.path, err = t.Find(); err != nil {
			missing = append(missing, name)
			continue
		}
		found = append(found, t)
	}
	return found, missing, nil
}

func toolNames(all []appliers.Applier) []string {
	var names []string
	for _, a := range all {
		names = append(names, a.Name)
	}
	return names
}

// tally is how often a tool succeeded at the first try.
type tally struct {
	Name   string `json:"name"`
	Tries  int    `json:"tries"`
	Good   int    `json:"good"`
	Failed string `json:"failed,omitempty"` // why the first of the others did not succeed
}

// toolPatience is the time for one try of a tool, with the time until all Pods are ready.
const toolPatience = 3 * time.Minute

// withTools tries each tool with a stream, in as many orders as t.tries says. The error joins
// tries that did not take place.
func (t *trial) withTools(ctx context.Context, s stream, objects []*unstructured.Unstructured) ([]tally, error) {
	var all []tally
	var errs []error
	for _, tool := range t.tools {
		one := tally{Name: tool.Name}
		for seed := range t.toolTries() {
			if ctx.Err() != nil {
				return all, errors.Join(errs...)
			}
			begin := time.Now()
			failed, err := t.withTool(ctx, tool, s, shuffled(objects, seed))
			took := time.Since(begin).Seconds()
			if err != nil {
				errs = append(errs, fmt.Errorf("%s, %s, %s: %w", s.name, tool.Name, orderName(seed), err))
				fmt.Fprintln(t.progress, errs[len(errs)-1])
				continue
			}
			fmt.Fprintf(t.progress, "%s, %s, %s: %.1fs with the control plane; %s\n", s.name, tool.Name, orderName(seed), took, cmp.Or(failed, "good"))
			one.Tries++
			if failed == "" {
				one.Good++
			}
			one.Failed = cmp.Or(one.Failed, failed)
		}
		all = append(all, one)
	}
	return all, errors.Join(errs...)
}

// toolTries returns in how many orders a tool is tried.
func (t *trial) toolTries() int {
	if t.tries > 0 {
		return min(t.tries, t.shuffles+1)
	}
	return t.shuffles + 1
}

// withTool applies a stream with a tool to an empty cluster with the stream's prerequisites. It
// returns why that did not succeed; "" if all is there, and all Pods of a program are ready.
func (t *trial) withTool(ctx context.Context, tool tool, s stream, objects []*unstructured.Unstructured) (failed string, err error) {
	p, err := openFor(ctx, t.dir, s)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	to, err := p.target(s, objects)
	if err == nil && tool.Prepare != nil {
		err = tool.Prepare(to)
	}
	if err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	args := tool.Apply(to, tool.flags...)
	args[0] = tool.path
	got, err := command(limited, args, "HOME="+p.dir) // no cache of another control plane
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil:
		last := cmp.Or(lastLines(got.stdout, 1), lastLines(got.stderr, 1), "no output")
		return p.oneLine(fmt.Sprintf("not finished after %s: %s", t.patience, last)), nil
	case err != nil:
		return "", err
	case got.code != 0:
		return p.oneLine(fmt.Sprintf("exit code %d: %s", got.code, got.reason())), nil
	case s.program != nil && !p.becomesReady(limited):
		return fmt.Sprintf("Pods not ready after %s", t.patience), ctx.Err()
	}
	if err := p.checkExist(kept(objects), s.namespace); err != nil {
		return p.oneLine(err.Error()), nil
	}
	return "", nil
}

// target writes a stream for a tool.
func (p *place) target(s stream, objects []*unstructured.Unstructured) (appliers.Target, error) {
	to := appliers.Target{
		Kubeconfig: p.Kubeconfig, Dir: filepath.Join(p.dir, "stream"),
		Namespace: cmp.Or(s.namespace, "default"), Into: s.namespace != "",
	}
	if err := os.Mkdir(to.Dir, 0o755); err != nil {
		return to, err
	}
	return to, p.writeTo(to.File(), objects)
}

// reason returns the lines of a failed command that say why: the last ones, or the first error
// among the events of cli-utils, which ends with a number.
func (o outcome) reason() string {
	for line := range strings.Lines(o.stdout) {
		if strings.Contains(line, " apply failed: ") || strings.HasPrefix(line, "Invalid object") {
			return line
		}
	}
	return cmp.Or(lastLines(o.stderr, 2), lastLines(o.stdout, 2), "no output")
}

// oneLine shortens a message to one line without the names of temporary files.
func (p *place) oneLine(message string) string {
	message = strings.Join(strings.Fields(strings.ReplaceAll(message, p.dir, "DIR")), " ")
	if runes := []rune(message); len(runes) > 300 {
		message = string(runes[:300]) + "…"
	}
	return message
}
