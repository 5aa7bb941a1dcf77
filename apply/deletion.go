package apply

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/object"
)

// The API server accepts PATCHes of what is being deleted, with code 200, and
// then deletes it. Such an answer is no success: the object must be gone, and
// be applied again.

// awaitDeletion waits until a live object that is being deleted is gone, to
// apply it again then. A CRD takes all its custom resources with it, so that
// is for a person to decide (k8sconnect ADR-007, case 4).
func (r *run) awaitDeletion(i int, live *unstructured.Unstructured) {
	s := &r.steps[i]
	if len(definedKinds(live)) > 0 {
		r.fail(i, Failed, crdGoing(live))
		return
	}
	s.vanishing = true
	r.move(i, Applying, "an older one is being deleted"+HeldBy(live)+"; it will be applied again when that is gone")
	r.watch(i)
	r.after(pollEvery, func() { r.lookAgain(i) }) // an open watch may have told it before
}

func crdGoing(live *unstructured.Unstructured) error {
	return fmt.Errorf("the CustomResourceDefinition is being deleted%s, and all its custom resources with it: wait until it is gone, then run this again", HeldBy(live))
}

// findVanishing looks at an object that the API server said is being deleted.
func (r *run) findVanishing(i int) {
	s := &r.steps[i]
	s.vanishing, s.live = true, identity{}
	r.move(i, Applying, "an older one is being deleted")
	r.send(opGet, i)
}

// foundVanishing waits until the object that is being deleted is gone; it may be
// so already.
func (r *run) foundVanishing(answer reply) {
	i := answer.step
	if missing(answer.err) || answer.err == nil && answer.live.GetDeletionTimestamp() == nil {
		r.gone(i)
		return
	}
	if answer.err != nil {
		r.trouble(i, answer)
		return
	}
	r.steps[i].live = identity{uid: string(answer.live.GetUID())}
	r.heed(i, answer.live)
	r.awaitDeletion(i, answer.live)
}

// HeldBy says what keeps a deleted object alive: its finalizers, or what its own
// conditions say of the deletion. The words go behind others; "" where nothing is
// known.
func HeldBy(live *unstructured.Unstructured) string {
	var held []string
	if names := live.GetFinalizers(); len(names) > 0 {
		held = append(held, "finalizers "+strings.Join(names, ", "))
	}
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if name := fmt.Sprint(condition["type"]); condition["status"] == "True" && strings.HasPrefix(name, "Namespace") {
			held = append(held, fmt.Sprintf("%s: %v", name, condition["message"]))
		}
	}
	if len(held) == 0 {
		return ""
	}
	return " (held by " + strings.Join(held, "; ") + ")"
}

// checkNamespaces looks at the Namespaces that the stream uses and does not
// hold, before anything is applied to them: what is applied to one that is
// being deleted seems to be there, and goes with it.
func (r *run) checkNamespaces() {
	kind, ok := r.a.Cluster.Kind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	if !ok || r.a.DryRun {
		return
	}
	for i := range r.steps {
		name := r.steps[i].ID.Namespace
		if name == "" || r.makesNamespace(name) {
			continue
		}
		if r.tenants[name] == nil {
			r.hand(request{op: opGet, step: -1, kind: kind, namespace: name})
		}
		r.tenants[name] = append(r.tenants[name], i)
		r.blockers[i]++
	}
}

// foundNamespace lets go what lives in a Namespace, or fails it when the
// Namespace is being deleted. That it is not there, or may not be read, shows
// when something is applied to it.
func (r *run) foundNamespace(answer reply) {
	going := answer.err == nil && answer.live.GetDeletionTimestamp() != nil
	for _, i := range r.tenants[answer.namespace] {
		if going && !r.steps[i].state.Final() {
			r.fail(i, Failed, namespaceGoing(answer.namespace, HeldBy(answer.live)))
		}
		r.release(i)
	}
}

func namespaceGoing(name, held string) error {
	return fmt.Errorf("namespace %q is being deleted%s, and whatever is applied to it goes with it: wait until it is gone and create it again, or add the Namespace to the stream, which then waits", name, held)
}

// makesNamespace tells whether the plan holds a Namespace.
func (r *run) makesNamespace(name string) bool {
	_, ok := r.byID[object.ID{Kind: "Namespace", Name: name}]
	return ok
}
