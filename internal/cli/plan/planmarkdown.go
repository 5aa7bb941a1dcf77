package plan

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// WriteMarkdown prints the preview as a comment for a pull request: a line for each resource
// that would change, with its diff folded below it.
// The comment has at most size bytes.
func (p *Previewed) WriteMarkdown(w io.Writer, size int) error {
	out := comment{size: size, head: "<p>" + escaped(p.totals()) + "</p>\n\n", notes: ordering.Remarks(p.Plan.Skipped, p.notes())}
	if !p.Anonymous {
		out.marked, out.head = true, htmlLine("h3", "Plan for ", p.Target.String())+out.head
	}
	for _, row := range p.Preview.Rows {
		if row.Action == preview.ActionUnchanged {
			continue
		}
		one, err := entryOf(row, p.waveTitle(row.Wave))
		if err != nil {
			return err
		}
		out.entries = append(out.entries, one)
	}
	out.entries = append(out.entries, hookEntries(p.Plan)...)
	return out.write(w)
}

// MarkdownWaves prints a plan that was made without a cluster, as a comment.
func MarkdownWaves(w io.Writer, plan *ordering.Plan, size int) error {
	out := comment{size: size, marked: true, head: "<h3>Plan, without a cluster</h3>\n\n", notes: ordering.Remarks(plan.Skipped, plan.Notes)}
	for wave := range plan.Waves {
		for _, step := range plan.Steps {
			if step.Wave == wave {
				out.entries = append(out.entries, newEntry("", step.ID, step.Why, plan.WaveTitle(wave)))
			}
		}
	}
	out.entries = append(out.entries, hookEntries(plan)...)
	return out.write(w)
}

// newEntry returns the line of a resource; action is our own text. Resources that grant
// permissions or see the requests of others are not listed with their wave.
func newEntry(action string, id object.ID, why ordering.Reason, wave string) entry {
	one := entry{id: id, heading: htmlLine("h4", "", plain.Clip(wave, textWidth))}
	if action != "" {
		one.summary = "<b>" + action + "</b> "
	}
	one.summary += code(nameOf(id))
	if text := why.String(); text != "" && why.Says() {
		one.summary += " " + code(plain.Clip(text, textWidth))
	}
	if one.first = grants(id); one.first {
		one.heading = "<h4>Permissions, webhooks and CRDs</h4>\n\n"
		one.summary += " " + code(plain.Clip(wave, textWidth))
	}
	return one
}

// grants reports whether a resource can give permissions to others, or see or change the
// requests or resources of others.
func grants(id object.ID) bool {
	return slices.Contains([]string{"rbac.authorization.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io"}, id.Group)
}

// nameOf returns the name of a resource, which the API server may not have validated.
func nameOf(id object.ID) string {
	id.Group, id.Kind = plain.Clip(id.Group, textWidth), plain.Clip(id.Kind, textWidth)
	id.Namespace, id.Name = plain.Clip(id.Namespace, textWidth), plain.Clip(id.Name, textWidth)
	return id.String()
}

// entryOf returns a resource with its detail, error and diff.
func entryOf(row preview.Row, wave string) (entry, error) {
	one := newEntry(string(row.Action), row.ID, row.Why, wave)
	pair, err := pairOf(row)
	var diff bytes.Buffer
	if err == nil && pair.live != pair.merged {
		err = pair.writeUnified(&diff)
	}
	if err != nil {
		return one, err
	}
	if row.Detail != "" {
		one.details = htmlLine("p", "", plain.Clip(row.Detail, textWidth))
	}
	if row.Err != nil {
		one.details += fenced("", cause(row.Err).Error()+"\n")
		one.open = row.Action == preview.ActionError
	}
	one.details += fenced("diff", diff.String())
	one.size = diff.Len()
	return one, nil
}

// cause returns the error of a row without the name of its resource.
func cause(err error) error {
	if failure := new(event.Error); errors.As(err, &failure) {
		return failure.Err
	}
	return err
}

// hookEntries returns the hooks around a plan.
func hookEntries(plan *ordering.Plan) []entry {
	var out []entry
	for _, hook := range plan.Hooks {
		one := newEntry("hook", hook.ID, ordering.Reason{}, hook.Event+", "+plan.HookPlace(hook))
		if !one.first {
			one.heading = "<h4>Hooks</h4>\n\n"
			one.summary += " " + code(hook.Event+", "+plan.HookPlace(hook))
		}
		out = append(out, one)
	}
	return out
}
