package state

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/state/history"
)

// The rules for undoing, deletions and hooks, checked after every request.
const (
	ruleDeleteHook  = "a delete hook ran only when something was uninstalled"
	ruleInstallHook = "an install hook never ran over a live application"
	ruleUpgradeHook = "an upgrade hook never ran where nothing was installed"
	ruleAdopted     = "what no run created, or was adopted, is never deleted by an undo or a prune"
	ruleReleased    = "what was adopted is no member after an undo"
	ruleGivenBack   = "what was taken from another set is given back by an undo"
	ruleEmptyStream = "a stream without resources deletes nothing"
	ruleOnce        = "an object is deleted for recreation at most once a run"
	ruleRecreatable = "an object that could not be created again is not deleted for recreation"
	ruleForged      = "what no run of the set has stored is neither applied nor run"
	ruleUnknown     = "a set that exists is not reported as unknown"
	ruleFenced      = "what is written under the lock passes the fence"
)

// ledger is the past of a history's objects, as the rules see it.
type ledger struct {
	live     map[string]*unstructured.Unstructured
	theirs   map[string]bool   // the live objects that no run on the set created
	takenOf  map[string]string // the set that such an object was a member of
	deployed bool              // a revision is, and the set was not deleted since
	claimed  map[string]bool   // objects of such revisions
	removing bool              // a deletion of the set has deleted a member
	removed  bool              // and it was the last one
}

// newLedger begins with the objects of a cluster. The set's own at the beginning were
// deployed by it.
func newLedger(set string, objects map[string]*unstructured.Unstructured) *ledger {
	l := &ledger{live: map[string]*unstructured.Unstructured{}, theirs: map[string]bool{}, takenOf: map[string]string{}, claimed: map[string]bool{}}
	for at, obj := range objects {
		l.live[at] = obj
		switch owner := applyset.Owner(obj); {
		case owner == set && len(applyset.MembershipManagers(obj)) > 0:
			l.deployed, l.claimed[at] = true, true
		case owner != "":
			l.takenOf[at] = owner
			fallthrough
		default:
			l.theirs[at] = true
		}
	}
	return l
}

// hash covers the inputs of the rules.
func (l *ledger) hash() uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, l.deployed, l.removing, l.removed, len(l.theirs), len(l.claimed))
	for _, at := range []string{keyA, keyB, keyC, keyJ, keyL} {
		fmt.Fprint(h, l.theirs[at], l.claimed[at])
	}
	return h.Sum64()
}

// follow checks a request that succeeded, and its effect on its object.
func (w *world) follow(q *request) {
	if q.fence == nil && !q.isLease() && q.actor == w.holder {
		w.violate(ruleFenced + ": " + q.label())
	}
	l, at, a := w.ledger, q.at(), q.actor
	before, after := l.live[at], w.store.Objects[at]
	if after != nil {
		l.live[at] = after
	} else {
		delete(l.live, at)
	}
	created := after != nil && (before == nil || before.GetUID() != after.GetUID())
	switch {
	case created && w.forged && (at == forgedKey || eventOf(at) != ""):
		w.violate(ruleForged + ": " + at)
	case created && eventOf(at) != "":
		w.checkHook(a, eventOf(at))
		a.acted = true
	case created:
		delete(l.theirs, at)
		a.acted = a.acted || exploredKeys[at]
	case before != nil && after == nil && exploredKeys[at]:
		w.checkDeletion(a, at, before)
		delete(l.theirs, at)
		delete(l.claimed, at)
	case before != nil && after == nil && at == w.parentKey():
		l.deployed, l.removing, l.removed, l.claimed = false, false, false, map[string]bool{}
	}
	if after != nil && after.GetLabels()[history.StatusLabel] == string(history.Deployed) && (before == nil || before.GetLabels()[history.StatusLabel] != string(history.Deployed)) {
		l.deployed, l.removing, l.removed = true, false, false
		for at := range a.says {
			l.claimed[at] = true
		}
	}
}

// exploredKeys are the objects of the streams.
var exploredKeys = map[string]bool{keyA: true, keyB: true, keyC: true, keyJ: true, keyL: true}

// checkHook checks that an event fits the run.
func (w *world) checkHook(a *actor, event hook.Event) {
	l := w.ledger
	existed := w.theirsOf(a)
	switch event {
	case hook.PreDelete, hook.PostDelete:
		uninstalls := l.removing || len(w.members()) > 0
		if a.sort != deletes {
			uninstalls = a.sort == applies && !l.deployed && len(existed) == 0 && a.acted
		}
		if !uninstalls {
			w.violate(fmt.Sprintf("%s: %s", ruleDeleteHook, event))
		}
	case hook.PreInstall, hook.PostInstall:
		if l.deployed && !l.removed && len(w.members()) > 0 || len(existed) > 0 {
			w.violate(fmt.Sprintf("%s: %s", ruleInstallHook, event))
		}
	case hook.PreUpgrade, hook.PostUpgrade:
		if !l.deployed && len(existed) == 0 {
			w.violate(fmt.Sprintf("%s: %s", ruleUpgradeHook, event))
		}
	}
}

// theirsOf returns the live objects of a run's stream that no run on the set created.
func (w *world) theirsOf(a *actor) []string {
	return slices.DeleteFunc(slices.Clone(a.stream), func(at string) bool { return !w.ledger.theirs[at] || w.store.Objects[at] == nil })
}

// members returns the live members of the set.
func (w *world) members() []string {
	var out []string
	for at, obj := range w.store.Objects {
		if exploredKeys[at] && applyset.Owner(obj) == w.setID() {
			out = append(out, at)
		}
	}
	slices.Sort(out)
	return out
}

// checkDeletion checks that a run may delete an object.
func (w *world) checkDeletion(a *actor, at string, before *unstructured.Unstructured) {
	l := w.ledger
	_, recreates := a.says[at]
	switch {
	case recreates:
		if a.deleted[at]++; a.deleted[at] > 1 {
			w.violate(ruleOnce + ": " + at)
		}
		if w.store.ServerSide.Admit != nil && w.store.ServerSide.Admit(nil, exploredObject(at, a.says[at])) != nil {
			w.violate(ruleRecreatable + ": " + at)
		}
		return
	case len(a.stream) == 0 && a.sort == applies && !a.undoing:
		w.violate(ruleEmptyStream + ": " + at)
	case l.theirs[at] && (a.undoing || !l.claimed[at]):
		w.violate(ruleAdopted + ": " + at)
	}
	if a.sort == deletes && applyset.Owner(before) == w.setID() {
		l.removing, l.removed = true, len(w.members()) == 0
	}
}

// checkEnd checks the result of a run that has ended.
func (w *world) checkEnd(a *actor) {
	if a.sort == deletes && a.err != nil && strings.Contains(a.err.Error(), "not found: nothing to delete") && w.store.Objects[w.parentKey()] != nil {
		w.violate(ruleUnknown)
	}
	if empty := a.sort == applies && len(a.stream) == 0; (a.err == nil || a.undone) && !empty {
		if err := w.as(a); err != nil {
			w.violate(a.name + ": " + err.Error())
		}
	}
	if !a.undone {
		return
	}
	for at := range w.ledger.theirs {
		owner := ""
		if obj := w.store.Objects[at]; obj != nil {
			owner = applyset.Owner(obj)
		}
		if exploredKeys[at] && owner == w.setID() && a.says[at] == "" && !w.ledger.claimed[at] {
			w.violate(ruleReleased + ": " + at)
		}
		if was := w.ledger.takenOf[at]; exploredKeys[at] && was != "" && owner != was && a.says[at] == "" {
			w.violate(ruleGivenBack + ": " + at)
		}
	}
}
