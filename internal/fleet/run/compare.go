package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"html"
	"io"
	"strings"
	"time"

	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/plan"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/fleet"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/operation"
)

// answer is the output of a read-only command about a cluster.
type answer struct {
	out      string
	messages []string // lines on standard error
	err      error
}

// alike is clusters about which it printed the same.
type alike struct {
	clusters []string
	out      string
}

// compare runs a read-only operation on all clusters, and prints the same answer of several
// once.
func (r *runner) compare(ctx context.Context, f *fleet.Fleet, do func(context.Context, *console.Console, fleet.Cluster) error) error {
	clusters := f.Clusters()
	show := r.newConsole(nil)
	answers := each(ctx, clusters, func(ctx context.Context, of fleet.Cluster) answer {
		var out bytes.Buffer
		var a answer
		messages := &lineWriter{each: func(line []byte) { a.messages = append(a.messages, string(line)) }}
		a.err = r.run(ctx, &out, messages, show.slow(of), func(ctx context.Context, c *console.Console) error { return do(ctx, c, of) })
		a.out = out.String()
		if a.err != nil && r.isJSON() && r.lines { // lines about the error
			a.out = ""
		}
		return a
	})
	if ctx.Err() != nil {
		return abortable.Cause(ctx)
	}
	messages, errs := make([][]string, len(clusters)), make([]error, len(clusters))
	var groups []*alike
	for i, a := range answers {
		messages[i], errs[i] = a.messages, a.err
		if a.out != "" {
			groups = addAlike(groups, clusters[i].Name, a.out)
		}
	}
	show.printShared(clusters, messages)
	return errors.Join(r.print(r.out.Out, groups, len(clusters)), errors.Join(name(clusters, errs)...))
}

// share returns the size with which the comments of all clusters fit into one.
func share(size, clusters int) int {
	return max(plan.MinCommentSize, (size-len(plan.Marker))/clusters-headSize)
}

// headSize is the length of the heading of a comment, without names of clusters, at most.
const headSize = 100

// isMarkdown reports whether standard output is a comment for a pull request.
func (r *runner) isMarkdown() bool { return r.output == "markdown" }

// eventsOf prints the lines of dry runs on all clusters, and at the end that of the fleet.
func (r *runner) eventsOf(ctx context.Context, f *fleet.Fleet, op operation.Apply) error {
	show := r.newConsole(f)
	started := time.Now()
	errs := each(ctx, f.Clusters(), func(ctx context.Context, c fleet.Cluster) error {
		one := dryRunOn(c, op).ReportTo(func(start events.RunStart) report.Reporter { return show.follow(c.Name, start) })
		return r.run(ctx, io.Discard, show.messages(c.Name), nil, one.RunOn)
	})
	err := errors.Join(name(f.Clusters(), errs)...)
	end := endLine(fleet.Summary{}, err, started)
	for _, one := range errs {
		end.Clusters[string(stateOf(one))]++
	}
	events.Write(r.out.Out, end)
	return err
}

func addAlike(groups []*alike, cluster, out string) []*alike {
	for _, g := range groups {
		if g.out == out {
			g.clusters = append(g.clusters, cluster)
			return groups
		}
	}
	return append(groups, &alike{[]string{cluster}, out})
}

// planOf is the plan of some clusters in JSON.
type planOf struct {
	Clusters []string        `json:"clusters"`
	Plan     json.RawMessage `json:"plan"`
}

// print prints each output below the names of its clusters.
func (r *runner) print(w io.Writer, groups []*alike, clusters int) error {
	if r.isJSON() {
		plans := []planOf{}
		for _, g := range groups {
			plans = append(plans, planOf{g.clusters, json.RawMessage(g.out)})
		}
		return plain.WriteJSON(w, map[string]any{"plans": plans}, "  ")
	}
	var text strings.Builder
	if r.isMarkdown() {
		text.WriteString(plan.Marker + "\n")
	}
	for i, g := range groups {
		head := strings.Join(g.clusters, ", ")
		if len(g.clusters) == clusters {
			head = "all " + plain.Count(clusters, "cluster") + ": " + head
		}
		switch {
		case r.isMarkdown(): // a name could be Markdown
			text.WriteString("<h2><code>" + html.EscapeString(plain.Line(head)) + "</code></h2>\n\n" + g.out)
			continue
		case i > 0:
			text.WriteString("\n")
		}
		plain.Fprintln(&text, "==> "+head)
		text.WriteString(g.out)
	}
	_, err := io.WriteString(w, text.String())
	return err
}
