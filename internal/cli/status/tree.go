package status

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/live/diagnose"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// PrintTree prints the members of the set by layer, with their controllers and Pods, and
// returns why the set is not ready.
func (o *Observer) PrintTree(ctx context.Context, c *console.Console) error {
	now, err := o.read(ctx)
	if err != nil {
		return err
	}
	owned, notes, err := o.readOwned(ctx, now.live)
	if err != nil {
		return err
	}
	now.status.Notes = append(now.status.Notes, notes...)
	if err := now.status.printTree(c.Out, ownerTree{owned, now.live, time.Now()}); err != nil {
		return err
	}
	return now.status.fault()
}

// ownerTree makes the nodes of members.
type ownerTree struct {
	owned owned
	live  map[object.ID]*unstructured.Unstructured
	now   time.Time
}

// node is an object with the objects of which it is the controller.
type node struct {
	name, words string
	alike       string // equal for siblings with the same words but for times
	bad         bool   // it is not ready, or one below it
	pods        int    // below it, or itself
	children    []node
}

// maxDepth bounds the levels below a member: owner references may form a circle.
const maxDepth = 5

// of returns the node of a member.
func (t ownerTree) of(m member) node {
	n := node{name: m.ID.String(), words: Word(m.Verdict, m.grade()), bad: m.Verdict != health.Ready}
	if n.bad && m.Reason != "" {
		n.words += ": " + plain.OneLine(m.Reason)
	}
	if live := t.live[m.ID]; live != nil {
		t.fill(&n, live, maxDepth)
	}
	return n
}

// below returns the node of an object that another one owns.
func (t ownerTree) below(live *unstructured.Unstructured, depth int) node {
	n := node{name: live.GetKind() + " " + live.GetName()}
	if kube.Meta(live).GroupKind() == "Pod" {
		n.words, n.pods = "ready", 1
		if phase, _, _ := unstructured.NestedString(live.Object, "status", "phase"); phase == "Succeeded" {
			n.words = "succeeded"
		}
		n.alike = n.words
		if problem, has := diagnose.PodProblemFrom(live, t.now); has {
			n.words, n.alike, n.bad = problem.Words(), problem.Text+problem.Cause, true
		}
	}
	t.fill(&n, live, depth)
	return n
}

// fill adds the objects of its object to a node, the bad ones first. Controllers without Pods,
// such as the ReplicaSet of an old revision, are left out.
func (t ownerTree) fill(n *node, live *unstructured.Unstructured, depth int) {
	for _, one := range t.owned[live.GetUID()] {
		if depth == 0 {
			return
		}
		child := t.below(one, depth-1)
		if child.words == "" && len(child.children) == 0 {
			continue
		}
		n.children = append(n.children, child)
		n.pods += child.pods
		n.bad = n.bad || child.bad
	}
	slices.SortStableFunc(n.children, func(a, b node) int {
		switch {
		case a.bad == b.bad:
			return cmp.Compare(a.name, b.name)
		case a.bad:
			return -1
		}
		return 1
	})
}

// printTree prints each section with its members: those with something that is not ready as
// trees, and the others in one line.
func (s *setStatus) printTree(out io.Writer, t ownerTree) error {
	var rows []row
	for _, section := range s.Sections {
		if section.IsStack { // its applications follow
			continue
		}
		rows = append(rows, row{name: fmt.Sprintf("%s: %d/%d ready, %s", section.Name, ready(section.Members), len(section.Members), grade(section.Members))})
		fine := map[string]int{}
		for _, m := range section.Members {
			if n := t.of(m); n.bad {
				rows = n.rows(rows, 1)
			} else {
				fine[m.ID.KindName()]++
				fine["Pod"] += n.pods
			}
		}
		if text := counted(fine); text != "" {
			rows = append(rows, row{name: "  ready: " + text})
		}
	}
	var text strings.Builder
	plain.Fprintln(&text, s.title())
	writeRows(&text, rows)
	for _, note := range s.Notes {
		plain.Fprintf(&text, "note: %s\n", note)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// row is a line of the tree.
type row struct{ name, words string }

// fewAlike is the number of siblings with the same words that have a line each.
const fewAlike = 3

// rows appends the lines of a node and of the nodes below it. Of many siblings with the same words
// one is named.
func (n node) rows(to []row, depth int) []row {
	indent := strings.Repeat("  ", depth)
	to = append(to, row{indent + n.name, n.words})
	alike := map[string]int{}
	for _, child := range n.children {
		if len(child.children) == 0 {
			alike[child.alike]++
		}
	}
	for _, child := range n.children {
		switch same := alike[child.alike]; {
		case len(child.children) > 0, same > 0 && same <= fewAlike:
		case same == 0: // an earlier one counted it
			continue
		default:
			child.name += fmt.Sprintf(" and %d more", same-1)
			alike[child.alike] = 0
		}
		to = child.rows(to, depth+1)
	}
	return to
}

// widestName bounds the column of names.
const widestName = 60

func writeRows(w io.Writer, rows []row) {
	width := 0
	for _, r := range rows {
		if r.words != "" {
			width = min(widestName, max(width, len(r.name)))
		}
	}
	for _, r := range rows {
		plain.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-*s  %s", width, plain.Line(r.name), plain.Line(r.words)), " "))
	}
}

// counted lists numbers of objects by kind: "2 ConfigMaps, 1 Service".
func counted(kinds map[string]int) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if kinds[kind] > 0 {
			parts = append(parts, plain.Count(kinds[kind], kind))
		}
	}
	return strings.Join(parts, ", ")
}
