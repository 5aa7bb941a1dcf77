package state

import "strings"

// exploredEvent is a request that was carried out, with its fault.
type exploredEvent struct {
	request  *request
	label    string
	accident string
	at       int // number of requests that had been carried out before
}

// read returns the event of an option; its request is nil when the option is
// not a request.
func (w *world) read(option string) (*exploredEvent, *request) {
	e := &exploredEvent{label: option, at: w.requests}
	for _, accident := range []string{unanswered, killed, unserved, restored, replaced, broken, denied, fails, homeless, emptied} {
		if rest, ok := strings.CutPrefix(option, accident); ok {
			e.label, e.accident = rest, accident
		}
	}
	for _, q := range w.waiting() {
		if q.label() == e.label {
			e.request = q
			return e, q
		}
	}
	return e, nil
}

// covered reports whether an equal history, except for the order of two
// independent events, is explored too: the option could have come before the
// last event, and its label sorts before that one's.
func (w *world) covered(option string) bool {
	if w.last == nil || w.last.request == nil {
		return false
	}
	e, q := w.read(option)
	if q == nil || q.born > w.last.at || e.label >= w.last.label {
		return false
	}
	if e.accident == killed && q.actor == w.last.request.actor {
		return false
	}
	return !depends(e, w.last)
}

// depends reports whether the order of two events matters: one writes an object
// that the other reads or writes, or both write the set.
func depends(a, b *exploredEvent) bool {
	p, q := a.request, b.request
	switch {
	case a.isForAll() || b.isForAll():
		return true
	case (a.mends() || b.mends()) && p.ofWidgets() && q.ofWidgets():
		return true
	case (a.accident == replaced || b.accident == replaced) && p.ofSwapped() && q.ofSwapped():
		return true
	case p.verb == "discover" && q.isLease() || q.verb == "discover" && p.isLease():
		return true // the read of the Lease comes right after it
	case !p.isWrite() && !q.isWrite():
		return false
	case p.isWrite() && q.isWrite() && p.isOfSet() && q.isOfSet() && p.actor != q.actor:
		return true
	}
	return p.kind.Resource == q.kind.Resource && (p.name == q.name || p.verb == "list" || q.verb == "list")
}

// isForAll reports whether the event comes with one that every request may depend on.
func (e *exploredEvent) isForAll() bool {
	return e.accident == broken || e.accident == homeless || e.accident == emptied
}

// mends reports whether the event changes whether Widgets are served.
func (e *exploredEvent) mends() bool { return e.accident == unserved || e.accident == restored }

func (q *request) ofWidgets() bool { return q.verb == "discover" || q.isOf("widgets") }

func (q *request) ofSwapped() bool {
	return q.at() == swapKey || q.isOf("serviceaccounts") && q.verb == "list"
}

// isOfSet reports whether a request is about a member or the parent, and not
// about the Lease or the history.
func (q *request) isOfSet() bool {
	return !q.isLease() && (!q.isOf("secrets") || q.name == "shop/shop")
}
