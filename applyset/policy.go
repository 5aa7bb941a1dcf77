package applyset

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Policy is the restriction that an object's author puts on an apply.
type Policy int

// The policies.
const (
	Apply      Policy = iota // create or change it
	CreateOnly               // create it where it does not exist, and never change it
	LeaveAlone               // never write it
	MustExist                // never write it, and wait until another creates it
)

// PolicyOf returns the policy of a manifest, and the annotation or label that says so, as
// "key: value". Each is read as its tool reads it; live is nil where the object does not
// exist:
//
//   - cli-utils, kpt: client.lifecycle.config.k8s.io/mutation: ignore creates only;
//   - Flux: kustomize.toolkit.fluxcd.io/ssa: IfNotPresent creates only; ssa: Ignore and
//     reconcile: disabled leave it alone, on the live object as well;
//   - kapp: kapp.k14s.io/update-strategy: skip creates only; noop leaves it alone, and
//     exists waits for it, whatever their values.
func PolicyOf(manifest, live *unstructured.Unstructured) (Policy, string) {
	annotations := stringsOf(manifest, "annotations")
	switch {
	case annotations[ValuesAnnotation] == ValuesNotKept:
		return MustExist, ValuesAnnotation + ": " + ValuesNotKept
	case annotations[mutation] == "ignore":
		return CreateOnly, mutation + ": ignore"
	case annotations[kappUpdate] == "skip":
		return CreateOnly, kappUpdate + ": skip"
	}
	for key, policy := range map[string]Policy{kappNoop: LeaveAlone, kappExists: MustExist} {
		if value, has := annotations[key]; has {
			text, _ := value.(string)
			return policy, key + ": " + quotedIfEmpty(text)
		}
	}
	if why := firstOf(manifest, fluxSSA+": IfNotPresent"); why != "" {
		return CreateOnly, why
	}
	for _, obj := range []*unstructured.Unstructured{manifest, live} {
		if obj == nil {
			continue
		}
		if why := firstOf(obj, fluxReconcile+": disabled", fluxSSA+": Ignore"); why != "" {
			return LeaveAlone, why
		}
	}
	return Apply, ""
}

// ValuesAnnotation is on the manifest of a Secret in a revision that does not have its values,
// with ValuesNotKept: no run writes it.
const (
	ValuesAnnotation = "ordapply.dev/values"
	ValuesNotKept    = "not-kept"
)

// Keys of other tools.
const (
	mutation   = "client.lifecycle.config.k8s.io/mutation"
	kappUpdate = "kapp.k14s.io/update-strategy"
	kappNoop   = "kapp.k14s.io/noop"
	kappExists = "kapp.k14s.io/exists"
)

func quotedIfEmpty(value string) string {
	if value == "" {
		return `""`
	}
	return value
}
