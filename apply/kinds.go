package apply

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/ordering"
)

// A kind becomes usable when discovery serves it, a little after its CRD is
// Established; a PATCH sent before gets 404. So both the CRD and whoever uses
// its kind wait for discovery. All who wait for one group-version share its
// requests.

// kindWait is what waits for one group-version to be served.
type kindWait struct {
	wants []want
	asked bool          // a request is out
	next  time.Time     // when one is due; zero when none is
	held  bool          // until more CRDs of the group-version are established
	looks int           // requests to discovery so far
	delay time.Duration // the pause after the next look; it doubles
	other time.Duration // the pause before a look that is likely in vain; it doubles
}

type want struct {
	step int
	kind schema.GroupVersionKind
}

// firstDelay is the pause before discovery is asked again when a kind is about
// to be served: it lags a little behind what brings the kind.
const firstDelay = 20 * time.Millisecond

// awaitKinds lets a step wait until the API server serves all the kinds.
func (r *run) awaitKinds(i int, kinds ...schema.GroupVersionKind) {
	s := &r.steps[i]
	if s.unserved > 0 {
		return
	}
	var missing []schema.GroupVersionKind
	for _, kind := range kinds {
		if _, served := r.kind(kind); !served {
			missing = append(missing, kind)
		}
	}
	s.unserved = len(missing)
	for _, kind := range missing {
		w := r.wanted[kind.GroupVersion()]
		if w == nil {
			w = &kindWait{delay: r.secondLook(kind), other: otherDelay}
			r.wanted[kind.GroupVersion()] = w
		}
		w.wants = append(w.wants, want{i, kind})
		r.ask(kind.GroupVersion(), w)
	}
	if s.unserved == 0 {
		r.served(i)
		return
	}
	r.expectKind(i, kinds[0])
}

// expectKind says what a step waits for, and gives up after a while on a kind
// that nothing in the stream makes.
func (r *run) expectKind(i int, kind schema.GroupVersionKind) {
	s := &r.steps[i]
	switch own := s.obj.GroupVersionKind() == kind; {
	case s.state == Waiting:
		r.move(i, Waiting, "its kind is not served yet")
	case own && len(s.MadeBy) > 0:
		r.move(i, Applying, "its kind, which "+s.MadeBy[0].String()+" makes, is not served yet")
	default:
		detail := "its kind is not served yet"
		if !own {
			detail = "it needs an object of kind " + kind.GroupKind().String() + ", which is not served yet"
		}
		r.move(i, Applying, detail)
		if s.patience == 0 { // else that bounds this wait, too
			r.after(r.a.KindTimeout, func() { r.kindExpired(i, kind) })
		}
	}
}

// batchDelay is how long other CRDs of a group-version are waited for, so that one
// look at discovery does for all.
const batchDelay = time.Second

// ask looks at discovery, once for all CRDs of a group-version that are on their
// way.
func (r *run) ask(gv schema.GroupVersion, w *kindWait) {
	switch {
	case w.asked, w.due():
	case !r.moreDefine(gv):
		r.discover(gv, w)
	case !w.held:
		w.held = true
		r.after(batchDelay, func() {
			if r.wanted[gv] == w && w.held {
				r.discover(gv, w)
			}
		})
	}
}

func (r *run) discover(gv schema.GroupVersion, w *kindWait) {
	w.asked, w.held, w.next = true, false, time.Time{}
	w.looks++
	r.hand(request{op: opDiscover, step: -1, discover: gv})
}

// moreDefine tells whether a CRD that defines kinds of a group-version is sent
// and not established yet.
func (r *run) moreDefine(gv schema.GroupVersion) bool {
	return slices.ContainsFunc(r.definers[gv], func(i int) bool {
		s := &r.steps[i]
		return busy(s.state) && s.unserved == 0
	})
}

// discovered looks who of those that wait for a group-version can go on, and
// asks again later for the others.
func (r *run) discovered(gv schema.GroupVersion) {
	w := r.wanted[gv]
	wants := w.wants
	w.wants, w.asked = nil, false
	for _, want := range wants {
		s := &r.steps[want.step]
		switch _, served := r.kind(want.kind); {
		case s.state.Final():
		case served:
			if s.unserved--; s.unserved == 0 {
				r.served(want.step)
			}
		default:
			w.wants = append(w.wants, want)
		}
	}
	if len(w.wants) == 0 {
		delete(r.wanted, gv)
		return
	}
	if slices.ContainsFunc(w.wants, func(want want) bool { return !r.defined(want.kind) }) {
		r.watchKinds()
	}
	r.lookIn(gv, w, r.nextDelay(w))
}

// defined tells whether a CustomResourceDefinition of the stream defines a kind.
func (r *run) defined(kind schema.GroupVersionKind) bool {
	_, defined := r.schemas[kind]
	return defined
}

// secondLook is the pause before discovery is asked a second time for a kind.
func (r *run) secondLook(kind schema.GroupVersionKind) time.Duration {
	if r.defined(kind) || r.kindsPolled {
		return firstDelay
	}
	return unpromptedDelay
}

// nextDelay is the pause before the next look. It doubles, so that even a long
// wait is a handful of looks; where nothing prompts them only up to longestPause.
func (r *run) nextDelay(w *kindWait) time.Duration {
	d := w.delay
	if w.delay *= 2; r.kindsPolled {
		w.delay = min(w.delay, longestPause)
	}
	return d
}

// due tells whether a look at discovery will follow by itself.
func (w *kindWait) due() bool { return !w.next.IsZero() }

// lookIn looks at discovery when d has passed; false when a look is out or due
// before that.
func (r *run) lookIn(gv schema.GroupVersion, w *kindWait, d time.Duration) bool {
	at := time.Now().Add(d)
	if w.asked || w.due() && !at.Before(w.next) {
		return false
	}
	w.next = at
	reportRetry(r.ctx(), Retry{Of: "ask which kinds " + gv.String() + " serves", Attempt: w.looks, Pause: d})
	r.after(d, func() {
		if r.wanted[gv] == w && w.next.Equal(at) {
			r.discover(gv, w)
		}
	})
	return true
}

// served goes on with a step whose kinds are all there: a CRD is ready, a
// custom resource can be sent.
func (r *run) served(i int) {
	if r.steps[i].state == Waiting {
		r.ready(i, "")
		return
	}
	r.invalidateReads()
	r.requireFreshRead(i)
	r.start(i)
}

// kindExpired gives up on a kind that nothing in the stream defines.
func (r *run) kindExpired(i int, kind schema.GroupVersionKind) {
	if _, served := r.kind(kind); served || r.steps[i].state != Applying || r.steps[i].unserved == 0 {
		return
	}
	if kind.Version == "" {
		r.fail(i, Failed, fmt.Errorf("it needs an object of kind %s, which is not of this stream, and the cluster does not serve that kind, after %s still not: "+
			"install what makes it, or correct the entry in the annotation %s", kind.GroupKind(), max(0, r.a.KindTimeout), ordering.DependsOnAnnotation))
		return
	}
	r.fail(i, Failed, r.unserved(kind, r.a.KindTimeout))
}

// nameUnserved fails what still waits, beside a failure, for its own kind that
// nothing in the stream makes: that is a fault to be named in the same run.
func (r *run) nameUnserved() {
	for i := range r.steps {
		s := &r.steps[i]
		gvk := s.obj.GroupVersionKind()
		if _, served := r.kind(gvk); s.state == Applying && s.unserved > 0 && !served && len(s.MadeBy) == 0 {
			r.fail(i, Failed, r.unserved(gvk, time.Since(s.begun).Round(time.Second/10)))
		}
	}
}

// unserved says why a kind that nothing in the stream makes is not served, as
// far as one can tell; waited is how long it was waited for, 0 when not at all.
func (r *run) unserved(kind schema.GroupVersionKind, waited time.Duration) error {
	stillNot, stillDidNot := "", ""
	if waited > 0 {
		stillNot, stillDidNot = fmt.Sprintf(", after %s still not", waited), fmt.Sprintf(", and after %s still did not", waited)
	}
	if err := r.a.Cluster.Unreadable(kind.GroupVersion()); err != nil {
		return fmt.Errorf("what serves %s does not answer%s: %w; see to the backend of its APIService (kubectl describe apiservice %s.%s)",
			kind.GroupVersion(), stillNot, brief(err), kind.Version, kind.Group)
	}
	if versions := r.a.Cluster.Versions(kind.GroupKind()); len(versions) > 0 {
		return fmt.Errorf("the cluster serves kind %s of group %q in %s, and not in %s: change the manifest's apiVersion",
			kind.Kind, kind.Group, strings.Join(versions, ", "), kind.Version)
	}
	if health.IsNative(kind.Group) {
		return r.unknownNative(kind)
	}
	return fmt.Errorf("the cluster does not serve kind %s of %s%s. "+
		"Either its CustomResourceDefinition is missing (install it, or add it to the stream), "+
		"or its apiVersion or kind is misspelt (kubectl api-resources lists what is served), "+
		"or the operator that creates the kind is not running (start it first)",
		kind.Kind, kind.GroupVersion(), stillDidNot)
}

// unknownNative says what is wrong with a kind of a group that Kubernetes serves
// itself: nothing that is installed could bring it.
func (r *run) unknownNative(kind schema.GroupVersionKind) error {
	var beside, elsewhere []string
	for _, known := range r.a.Cluster.NamespacedKinds() {
		if known.Group == kind.Group {
			beside = append(beside, known.Kind)
		}
		if known.Kind == kind.Kind {
			elsewhere = append(elsewhere, known.GroupVersion().String())
		}
	}
	hint := ordering.DidYouMean(kind.Kind, beside)
	if len(elsewhere) > 0 {
		hint = fmt.Sprintf("; it serves %s in %s", kind.Kind, strings.Join(elsewhere, ", "))
	}
	return fmt.Errorf("this cluster has no kind %s in %s: correct the manifest's apiVersion or kind%s", kind.Kind, kind.GroupVersion(), hint)
}

// refuseUnknown fails what has a kind that no waiting brings, before anything is
// written.
func (r *run) refuseUnknown() {
	for i := range r.steps {
		s := &r.steps[i]
		gvk := s.obj.GroupVersionKind()
		if _, served := r.kind(gvk); served || s.state.Final() || r.mayAppear(i, gvk) {
			continue
		}
		r.fail(i, Failed, r.unserved(gvk, 0))
		r.over = true
	}
}

// mayAppear reports whether a kind that is not served may be served later in the
// run: something of the stream makes it, its server may answer by then, or an
// operator may bring it while it is waited for.
func (r *run) mayAppear(i int, gvk schema.GroupVersionKind) bool {
	s := &r.steps[i]
	if len(s.MadeBy) > 0 || r.a.Cluster.Unreadable(gvk.GroupVersion()) != nil {
		return true
	}
	own, _ := ownTimeout(s.obj)
	waits := r.a.KindTimeout > 0 || own > 0 || s.Timeout > 0
	return !health.IsNative(gvk.Group) && (waits || r.a.DryRun)
}

// definedKinds are the kinds that a CustomResourceDefinition serves; none for
// any other object.
func definedKinds(obj *unstructured.Unstructured) []schema.GroupVersionKind {
	if obj.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}) {
		return nil
	}
	group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(obj.Object, "spec", "versions")
	var kinds []schema.GroupVersionKind
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if name, _ := version["name"].(string); ok && version["served"] == true {
			kinds = append(kinds, schema.GroupVersionKind{Group: group, Version: name, Kind: kind})
		}
	}
	return kinds
}
