package state

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// exploration tries every history of two runs: every order of their requests,
// with every fault. It replays each history from the beginning up to a choice
// that was not tried yet, and stops where an earlier history was in the same
// state. Histories with fewer faults come first, so the earlier one has at
// least as many faults left.
type exploration struct {
	scenario scenario
	faults   int      // maximum in one history
	sorts    []string // of faults; nil: all

	todo    [][]*choice // histories to try, by the number of their faults so far
	visited map[uint64]bool
	found   map[string]violation

	histories, whole, requests, repeated, diverged int
}

// choice is an option that was chosen among several, and the choices before
// it.
type choice struct {
	before *choice
	option string
	state  uint64 // in which it was chosen
}

// path returns all choices in order.
func (c *choice) path() []*choice {
	var path []*choice
	for ; c != nil; c = c.before {
		path = append(path, c)
	}
	slices.Reverse(path)
	return path
}

// violation is a history that broke an invariant.
type violation struct {
	faults int
	trace  []string
}

// run explores all histories.
func (e *exploration) run(t *testing.T) {
	e.visited, e.found = map[uint64]bool{}, map[string]violation{}
	e.todo = make([][]*choice, e.faults+1)
	e.todo[0] = []*choice{nil}
	reported := time.Now()
	for faults := range e.todo {
		for tried := 0; len(e.todo[faults]) > 0; tried++ {
			last := len(e.todo[faults]) - 1
			next := e.todo[faults][last]
			e.todo[faults] = e.todo[faults][:last]
			e.carryOut(t, next)
			e.histories++
			if time.Since(reported) > time.Minute {
				reported = time.Now()
				fmt.Printf("exploring, %s: %d histories; with %d faults %d, and %d to come\n", e.scenario.name, e.histories, faults, tried+1, last)
			}
		}
	}
}

// once carries out one history: the choices of its path, and then the first
// option each time.
func (e *exploration) once(path []*choice) (astray bool) {
	w := newWorld(e.scenario)
	w.begin(e.scenario)
	for w.violation == "" {
		synctest.Wait()
		w.startNext()
		options := slices.DeleteFunc(w.options(e.faults-w.faults), e.isLeftOut)
		if len(options) == 0 {
			if e.isNew(w, nil) {
				w.finish(e.scenario.later("later"))
				e.whole++
			}
			break
		}
		if options = slices.DeleteFunc(options, w.covered); len(options) == 0 {
			break
		}
		var option string
		var ok bool
		if option, ok, astray = e.next(w, options, &path); !ok {
			break
		}
		w.perform(option)
	}
	e.requests += w.requests
	if w.violation != "" {
		e.report(w)
	}
	w.end()
	return astray
}

// isLeftOut reports whether an option is a fault of a sort that is not tried.
func (e *exploration) isLeftOut(option string) bool {
	return e.sorts != nil && faultsOf(option) > 0 && !slices.ContainsFunc(e.sorts, func(sort string) bool {
		return strings.HasPrefix(option, sort) || strings.HasSuffix(option, sort)
	})
}

// next returns the next option; ok is false where an earlier history was in
// the same state, or where this one goes astray: its path cannot be followed.
func (e *exploration) next(w *world, options []string, path *[]*choice) (option string, ok, astray bool) {
	if len(options) == 1 {
		fresh := len(*path) > 0 || !w.decides(options[0]) || e.isNew(w, options)
		return options[0], fresh, false
	}
	if len(*path) > 0 {
		c := (*path)[0]
		*path = (*path)[1:]
		w.chosen = c
		if !slices.Contains(options, c.option) || len(*path) == 0 && w.state(options) != c.state {
			return "", false, true
		}
		return c.option, true, false
	}
	state := w.state(options)
	if e.visited[state] {
		return "", false, false
	}
	e.visited[state], w.entered[state] = true, true
	before := w.chosen
	for _, option := range slices.Backward(options) {
		c := &choice{before, option, state}
		if faults := w.faults + faultsOf(option); option != options[0] || faults > w.faults {
			e.todo[faults] = append(e.todo[faults], c)
		} else {
			w.chosen = c
		}
	}
	return options[0], w.chosen != before, false
}

// carryOut carries out the history of a choice. Go's scheduler may run two
// goroutines of a run in another order than before, once in some thousand
// histories: the history is then retried a few times before it counts as
// diverged.
func (e *exploration) carryOut(t *testing.T, last *choice) {
	astray := true
	for try := 0; astray && try < 5; try++ {
		if try > 0 {
			e.repeated++
		}
		synctest.Test(t, func(*testing.T) { astray = e.once(last.path()) })
	}
	if astray {
		e.diverged++
	}
}

// isNew records the state of a history; it returns false where an earlier one
// was in it.
func (e *exploration) isNew(w *world, options []string) bool {
	state := w.state(options)
	if e.visited[state] {
		return w.entered[state]
	}
	e.visited[state], w.entered[state] = true, true
	return true
}

// decides reports whether an option is a request that matters. Passing time
// does not: it changes nothing in a state, and yet never leads back to it.
func (w *world) decides(option string) bool {
	_, q := w.read(option)
	return q != nil && w.matters(q)
}

// faultsOf returns the number of faults of an option.
func faultsOf(option string) int {
	for _, fault := range []string{unanswered, killed, unserved, replaced, broken, denied, fails, homeless} {
		if strings.HasPrefix(option, fault) {
			return 1
		}
	}
	if strings.HasSuffix(option, suspended) {
		return 1
	}
	return 0
}

// report keeps the shortest history that breaks an invariant.
func (e *exploration) report(w *world) {
	before, known := e.found[w.violation]
	if !known {
		fmt.Printf("exploring, %s: broken: %s\n", e.scenario.name, w.violation)
	}
	if !known || w.faults < before.faults || w.faults == before.faults && switches(w.trace) < switches(before.trace) {
		e.found[w.violation] = violation{w.faults, w.trace}
	}
}

// switches measures a trace: the number of switches between runs, then its
// length.
func switches(trace []string) int {
	n, last := len(trace), ""
	for _, line := range trace {
		if actor, _, _ := strings.Cut(line, ":"); actor != last {
			n, last = n+100, actor
		}
	}
	return n
}

// suspension is how long a suspended run is stopped: longer than its Lease
// lasts.
const suspension = 20 * time.Second

// options returns the possible next events; none when both runs have ended.
func (w *world) options(faults int) []string {
	var out []string
	live, sleeping := 0, false
	for _, a := range w.actors {
		if !a.dead && !a.ended {
			live++
			sleeping = sleeping || len(a.waiting) == 0 && (a == w.holder || a.late) // otherwise it can only wait for the lock
		}
	}
	waiting := w.waiting()
	for _, q := range waiting {
		if !w.matters(q) {
			return []string{q.label()}
		}
	}
	last := map[*actor]bool{} // its first request stands for all that it sends concurrently
	var turns []*request
	for _, q := range slices.DeleteFunc(waiting, func(q *request) bool { return w.mayComeLater(q, faults) }) {
		if last[q.actor] {
			if faults > 0 && q.isWrite() {
				out = append(out, killed+q.label())
			}
			continue
		}
		last[q.actor] = w.alone(q.actor)
		turns = append(turns, q)
	}
	for _, q := range turns {
		out = append(out, w.accidents(q, faults)...)
	}
	if live > 0 && (sleeping || len(waiting) == 0) {
		out = append([]string{passing}, out...)
	}
	for _, q := range slices.Backward(turns) {
		out = append([]string{q.label()}, out...)
	}
	return out
}

// alone reports whether no other run can write before this one has done
// something: its concurrent requests may then come in any order. It may be
// killed in between.
func (w *world) alone(a *actor) bool {
	return !a.late && !slices.ContainsFunc(w.actors, func(other *actor) bool {
		shut := w.holder == a && other.isAtLock()
		return other != a && !other.ended && !other.dead && (other == w.holder || other.late || len(other.waiting) > 0 && !shut)
	})
}

// isAtLock reports whether all requests of the run are for the lock.
func (a *actor) isAtLock() bool {
	return !slices.ContainsFunc(a.waiting, func(q *request) bool { return !q.isLease() && q.verb != "discover" })
}

// mayComeLater reports whether a request of a run that waits for the lock can
// be postponed until after the holder's next request, because the two are
// independent. The run does not get the lock before the holder releases it,
// is killed or is suspended.
func (w *world) mayComeLater(q *request, faults int) bool {
	holder := w.holder
	if holder == nil || holder == q.actor || holder.dead || holder.late || q.actor.late || !q.actor.isAtLock() || len(holder.waiting) == 0 {
		return false
	}
	return !slices.ContainsFunc(holder.waiting, func(p *request) bool {
		return p.isLease() || q.verb == "discover" && p.ofWidgets() && (faults > 0 || w.store.Gone[widget])
	})
}

// passing lets time pass until a run sends a request.
const passing = "time passes"

// waiting returns the requests that may proceed, in a fixed order.
func (w *world) waiting() []*request {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*request
	for _, a := range w.actors {
		if !a.stalled {
			out = append(out, a.waiting...)
		}
	}
	return sorted(out)
}

// matters reports whether it makes a difference when a request is carried
// out. The Namespace that identifies the cluster is never written; the holder
// of the Lease may renew it at any time, and waiting runs may read it. Reads of
// a run before its first read of the Lease come right before that.
func (w *world) matters(q *request) bool {
	switch {
	case q.actor.isAskingAgain(q) && w.store.Gone[widget]:
		return false
	case q.isOf("namespaces") && q.name != "/"+home, !q.actor.looked && q.verb != "discover":
		return false
	case q.isLease() && q.verb == "get" && q.actor.looked && q.actor != w.holder:
		return false
	case q.isLease() && q.verb == "update" && q.holder == q.actor.identity && q.actor == w.holder:
		return q.actor.late
	}
	return true
}

// accidents returns the possible faults of a request, or right before it.
func (w *world) accidents(q *request, faults int) []string {
	var out []string
	if q.ofWidgets() && w.store.Gone[widget] && q.actor.requested[q.label()] < 2 { // it may be requested for long
		out = append(out, restored+q.label())
	}
	if w.isOfHome(q) && w.homeIs == terminating {
		out = append(out, emptied+q.label())
	}
	if faults <= 0 {
		return out
	}
	if q.isWrite() {
		out = append(out, unanswered+q.label(), killed+q.label())
	}
	if w.isOfHome(q) && w.homeIs == present {
		out = append(out, homeless+q.label())
	}
	if w.isUnkind(q) {
		out = append(out, denied+q.label())
	}
	if w.store.ServerSide.On && q.verb == "apply" && q.isOf("jobs") {
		out = append(out, fails+q.label())
	}
	if w.inSequence {
		return out
	}
	if (w.holder == q.actor || q.isLease() && q.isWrite()) && q.actor.waiting[0] == q {
		out = append(out, q.actor.name+suspended)
	}
	if q.ofWidgets() && !w.store.Gone[widget] {
		out = append(out, unserved+q.label())
	}
	if obj := w.store.Objects[swapKey]; obj != nil && obj.GetUID() != "theirs" && q.ofSwapped() {
		out = append(out, replaced+q.label())
	}
	if h := w.holder; q.isLease() && h != nil && h != q.actor && (h.dead || h.late) {
		out = append(out, broken+q.label())
	}
	return out
}

// The faults, and repairs, of the next request or before it.
const (
	unanswered = "no answer to "
	killed     = "killed with "
	unserved   = "Widgets are not served from here on; "
	restored   = "Widgets are served again; "
	replaced   = "another user replaces " + swapKey + "; "
	broken     = "another user deletes the Lease; "
	denied     = "admission denies from here on; "
	fails      = "its Pod fails; "
	homeless   = "another user deletes Namespace home; "
	emptied    = "Namespace home is gone; "
	suspended  = ": is suspended"
)

// isOfHome reports whether a request depends on Namespace home.
func (w *world) isOfHome(q *request) bool {
	return w.set.Namespace == "" && (strings.HasPrefix(q.name, home) || q.name == "/"+home)
}

// isUnkind reports whether admission may begin to deny the object of a request, as the
// run applies it.
func (w *world) isUnkind(q *request) bool {
	return w.store.ServerSide.On && q.verb == "apply" && exploredKeys[q.at()] && q.actor.says[q.at()] != "" && w.refused[q.at()] == ""
}

// begin starts the runs of a history: all at once, or only the first.
func (w *world) begin(of scenario) {
	runs := of.runs()
	if w.inSequence = of.inSequence; of.inSequence {
		runs, w.next = runs[:1], runs[1:]
	}
	for _, a := range runs {
		w.start(a)
	}
}

// startNext checks the end of a run, and starts the one after it.
func (w *world) startNext() {
	a := w.actors[len(w.actors)-1]
	if !w.inSequence || !a.ended && !a.dead || a.ending {
		return
	}
	<-a.done
	a.ending = true
	if !a.dead {
		w.checkEnd(a)
	}
	if len(w.next) > 0 {
		w.start(w.next[0])
		w.next = w.next[1:]
		synctest.Wait()
	}
}

// perform carries out an option.
func (w *world) perform(option string) {
	w.trace = append(w.trace, option)
	e, q := w.read(option)
	if q == nil || w.matters(q) {
		w.last = e
	}
	switch {
	case option == passing:
		w.pass()
		return
	case strings.HasSuffix(option, suspended):
		w.faults++
		w.suspend(w.named(option))
		return
	}
	how := granted
	switch e.accident {
	case unanswered:
		how = lost
	case killed:
		how = crashed
	case unserved, restored:
		w.store.Gone[widget] = e.accident == unserved
	case replaced:
		w.swap()
	case broken:
		w.store.Drop(theLease)
		w.rehash(theLease)
		w.holder = nil
	case homeless:
		w.loseHome(terminating)
	case emptied:
		w.loseHome(gone)
	case denied:
		w.refused[q.at()] = q.actor.says[q.at()]
	case fails:
		q.podFails = true
	}
	if e.accident != "" && e.accident != restored && e.accident != emptied {
		w.faults++
	}
	w.let(q, how)
}

func (w *world) named(option string) *actor {
	return w.actors[slices.IndexFunc(w.actors, func(a *actor) bool { return strings.HasPrefix(option, a.name+":") })]
}

// pass waits until a run sends a new request that matters, or ends.
func (w *world) pass() {
	select {
	case <-w.poke:
	default:
	}
	late, before, ended := time.After(time.Hour), w.waiting(), w.ended()
	for over := false; !over; {
		select {
		case <-w.poke:
		case <-late:
			if len(before) == 0 { // otherwise waiting requests were only not granted
				w.violate("every run ends")
			}
			return
		}
		synctest.Wait()
		for _, q := range w.waiting() {
			switch {
			case !w.matters(q):
				w.let(q, granted)
			case !slices.Contains(before, q):
				over = true
			}
		}
		over = over || w.ended() > ended
	}
}

// ended returns the number of runs that have ended.
func (w *world) ended() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, a := range w.actors {
		if a.ended {
			n++
		}
	}
	return n
}

// suspend stops a process for so long that another run may take its lock.
// Requests that it was about to send are sent when it continues, or found to
// be too late.
func (w *world) suspend(a *actor) {
	w.mu.Lock()
	a.stalled, a.late = true, true
	w.mu.Unlock()
	until := time.NewTimer(suspension)
	for over := false; !over; {
		select {
		case <-w.poke:
		case <-until.C:
			over = true
		}
		synctest.Wait()
		for _, q := range w.waiting() {
			if !w.matters(q) {
				w.let(q, granted)
			}
		}
	}
	w.mu.Lock()
	a.stalled = false
	w.mu.Unlock()
}

// finish checks the end of a history, and starts a later run that repairs
// everything.
func (w *world) finish(later *actor) {
	for _, a := range w.actors {
		<-a.done
	}
	if n := len(w.held); n > 0 && !w.held[n-1].dead && w.held[n-1].err == nil && !w.inSequence && !w.homeLost { // else a deletion may have run without a lock
		if err := w.as(w.held[n-1]); err != nil {
			w.violate(err.Error())
			return
		}
	}
	w.store.Gone[widget] = false
	w.createHome()
	w.toItsEnd(later)
	if w.violation != "" {
		return
	}
	err := later.err
	if err == nil {
		err = w.as(later)
	}
	if err != nil {
		w.violate("a later run: " + err.Error())
	}
}

// toItsEnd starts a run, and carries out all that it requests.
func (w *world) toItsEnd(a *actor) {
	w.start(a)
	for synctest.Wait(); w.violation == ""; synctest.Wait() {
		if waiting := w.waiting(); len(waiting) > 0 {
			w.let(waiting[0], granted)
		} else if a.ended {
			break
		} else {
			w.pass()
		}
	}
}

// end stops the rest of a history.
func (w *world) end() {
	for _, a := range w.actors {
		w.kill(a)
	}
	for _, a := range w.actors {
		<-a.done
	}
}
