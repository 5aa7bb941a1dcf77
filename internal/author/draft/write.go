package draft

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// Entries returns the layers that sortOrder lists: all but the unmatched resources'.
func (o *Order) Entries() []Layer {
	return slices.DeleteFunc(slices.Clone(o.Layers), func(l Layer) bool { return l.entry() == "" })
}

// YAML returns the order as a file for --order. Comments explain each layer.
func (o *Order) YAML() []byte {
	var out bytes.Buffer
	entries := o.Entries()
	plain.Fprintf(&out, "# yaml-language-server: $schema=%s\n", sortorder.SchemaURL)
	plain.Fprintf(&out, "# A first order for this stream, proposed by ordapply init: %s", plain.Count(len(entries), "layer"))
	if len(entries) > 0 {
		plain.Fprintf(&out, ", by %s", o.By)
	}
	out.WriteString(".\n# Read it, correct it, and keep it with the manifests; ordapply vet --order checks it.\n")
	reasons := slices.ContainsFunc(entries, func(l Layer) bool {
		return len(l.Why)+len(l.Mutual) > 0 || l.DependsOn == nil && l.Name != entries[0].Name
	})
	switch gated := slices.DeleteFunc(slices.Clone(entries), func(l Layer) bool { return l.Applied }); {
	case len(gated) == 0:
		out.WriteString("# No layer: this order makes nothing wait.\n")
	case len(entries) == 1:
		out.WriteString("# One layer: this order makes nothing wait.\n")
	case len(gated) == 1:
		out.WriteString("# Only one layer has a gate: this order makes nothing wait.\n")
	case !reasons:
		out.WriteString("# No manifest says which layer needs another: none waits until you complete dependsOn below.\n")
	}
	o.explainLeft(&out)
	annotations := ""
	if o.LocalConfig {
		annotations = ", annotations: {" + object.LocalConfigAnnotation + `: "true"}`
	}
	plain.Fprintf(&out, "apiVersion: ordapply.dev/v1alpha1\nkind: SortOrder\nmetadata: {name: %s%s}\n", plain.YAML(o.Name), annotations)
	if len(entries) == 0 {
		out.WriteString("sortOrder: []\n")
		return out.Bytes()
	}
	out.WriteString("sortOrder:               # a resource belongs to the first entry that matches it\n")
	for n, l := range entries {
		l.explain(&out, n == 0, reasons)
		out.WriteString("- " + l.entry() + "\n  layer: " + plain.YAML(l.Name) + "\n")
		if l.Applied {
			out.WriteString("  gate: applied\n")
		}
	}
	o.writeLayers(&out)
	return out.Bytes()
}

// explainLeft lists objects without a layer.
func (o *Order) explainLeft(out *bytes.Buffer) {
	if len(o.Left)+len(o.Hooks) == 0 {
		return
	}
	first := slices.DeleteFunc(slices.Clone(o.Left), func(id object.ID) bool { return !id.IsCRD() && !id.IsNamespace() })
	others := slices.DeleteFunc(slices.Clone(o.Left), func(id object.ID) bool { return id.IsCRD() || id.IsNamespace() })
	out.WriteString("#\n# Without a layer:\n")
	if len(first) > 0 {
		plain.Fprintf(out, "# - %s: before everything else\n", kinds(first))
	}
	if len(others) > 0 {
		plain.Fprintf(out, "# - %s: before the first resource that uses it; what none uses waits for no layer\n", kinds(others))
	}
	if len(o.Hooks) > 0 {
		plain.Fprintf(out, "# - %s: Helm hooks, which run before or after all layers\n", kinds(o.Hooks))
	}
}

// writeLayers writes dependsOn of layers that do not just follow the entry before.
func (o *Order) writeLayers(out *bytes.Buffer) {
	written := false
	for _, l := range o.Layers {
		if l.DependsOn == nil {
			continue
		}
		if !written {
			out.WriteString("layers:                  # these do not wait for the entry before them, but for:\n")
			written = true
		}
		var names []string
		for _, name := range l.DependsOn {
			names = append(names, plain.YAML(name))
		}
		plain.Fprintf(out, "- {name: %s, dependsOn: [%s]}\n", plain.YAML(l.Name), strings.Join(names, ", "))
	}
}

// explain writes the comment of a layer. Without reasons, none of the layers has one.
func (l Layer) explain(out *bytes.Buffer, first, reasons bool) {
	switch {
	case l.Applied:
		out.WriteString("\n# The rest: it waits for no layer, and no layer waits until it is ready.\n")
		return
	case l.Selector.rest:
		out.WriteString("\n# All that has no entry of its own, and that no other resource uses.\n")
	default:
		plain.Fprintf(out, "\n# %s.\n", kinds(l.Resources))
	}
	for _, why := range plain.Sample(l.Why, 2, "and %d more such reasons", func(s string) string { return s }) {
		plain.Fprintf(out, "# - %s\n", why)
	}
	if len(l.Mutual) > 0 {
		plain.Fprintf(out, "# It and these layers need each other, so none waits for another: %s.\n", joined(l.Mutual, 3, func(name string) string { return name }))
	}
	switch {
	case len(l.Why)+len(l.Mutual) > 0, !reasons:
	case first || l.DependsOn != nil && len(l.DependsOn) == 0:
		out.WriteString("# No edge places it after another layer.\n")
	default:
		out.WriteString("# It needs resources that wait for earlier layers.\n")
	}
}

// entry returns the selector as a line of YAML, "" without one.
func (l Layer) entry() string {
	s := l.Selector
	if s.rest {
		return "unmatched: true"
	}
	var parts []string
	labels, annotations := split(s.match)
	if text := conditions(labels, "matchLabels"); text != "" {
		parts = append(parts, "labelSelector: {"+text+"}")
	}
	if text := conditions(annotations, "matchAnnotations"); text != "" {
		parts = append(parts, text)
	}
	for _, field := range [][2]string{{"namespace", s.namespace}, {"group", s.group}, {"kind", s.kind}} {
		if field[1] != "" {
			parts = append(parts, field[0]+": "+plain.YAML(field[1]))
		}
	}
	if s.kind != "" && s.group == "" {
		parts = append(parts, `group: ""`)
	}
	if s.unspaced {
		parts = append(parts, `namespace: ""`)
	}
	return strings.Join(parts, "\n  ")
}

func split(all []requirement) (labels, annotations []requirement) {
	for _, q := range all {
		if q.key.annotation {
			annotations = append(annotations, q)
		} else {
			labels = append(labels, q)
		}
	}
	return labels, annotations
}

// conditions returns requirements as fields of a selector; equal is the field for values.
func conditions(all []requirement, equal string) string {
	var pairs, expressions, fields []string
	for _, q := range all {
		if q.value == "" {
			expressions = append(expressions, fmt.Sprintf("{key: %s, operator: DoesNotExist}", plain.YAML(q.key.name)))
		} else {
			pairs = append(pairs, plain.YAML(q.key.name)+": "+plain.YAML(q.value))
		}
	}
	if len(pairs) > 0 {
		fields = append(fields, equal+": {"+strings.Join(pairs, ", ")+"}")
	}
	if len(expressions) > 0 {
		fields = append(fields, "matchExpressions: ["+strings.Join(expressions, ", ")+"]")
	}
	separator := ", "
	if equal == "matchAnnotations" {
		separator = "\n  "
	}
	return strings.Join(fields, separator)
}
