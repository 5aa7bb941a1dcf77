package ordering

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	argoHookAnnotation = "argocd.argoproj.io/hook"
	helmHookAnnotation = "helm.sh/hook"
)

// withoutHooks takes out what is no part of an apply: objects that Argo CD or
// Helm create at other times than an apply, or not at all. They are refused
// unless they are to be skipped, or kept.
func withoutHooks(resources []Resource, options Options) (kept []Resource, skipped []Skipped, err error) {
	if options.KeepHooks {
		return resources, nil, nil
	}
	var errs []error
	kept = make([]Resource, 0, len(resources))
	byArgo := HooksByArgo(resources, options.Frame)
	for _, r := range resources {
		why := hookReason(r, byArgo)
		switch {
		case why == "":
			kept = append(kept, r)
		case options.SkipHooks:
			skipped = append(skipped, Skipped{r.ID, Reason{Rule: "hook", Detail: why, Where: r.Source}})
		default:
			errs = append(errs, fmt.Errorf("%s: %s: take it out of the stream, or leave all such objects out with --hooks=skip", located(r), why))
		}
	}
	return kept, skipped, errors.Join(errs...)
}

// withoutAnyHooks takes out all that Helm or Argo CD create as hooks: such an
// object may be gone when it has done its work.
func withoutAnyHooks(resources []Resource) []Resource {
	return slices.DeleteFunc(slices.Clone(resources), func(r Resource) bool { return firstKey(r, argoHookAnnotation, helmHookAnnotation) != "" })
}

// HooksByArgo reports whether Helm's hooks among the resources are placed in the
// phases of Argo CD, which run as parts of the plan.
func HooksByArgo(resources []Resource, frame Frame) bool {
	return frame == FrameArgoCD || frame == FrameAuto && argoRules(resources)
}

// IsArgoHook reports whether annotations make an object a hook of Argo CD, which
// goes before Helm's annotations.
func IsArgoHook(annotations map[string]string) bool {
	_, annotated := annotations[argoHookAnnotation]
	return annotated
}

// argoRules tells whether Argo CD's annotations will be the frame.
func argoRules(resources []Resource) bool {
	return slices.ContainsFunc(resources, func(r Resource) bool { return argoKey(r) != "" }) &&
		!slices.ContainsFunc(resources, func(r Resource) bool { return stampKey(r) != "" || helmKey(r) != "" })
}

// hookReason says why a resource is no part of an apply; "" when it is.
func hookReason(r Resource, byArgo bool) string {
	if hook, ok := r.Annotations[argoHookAnnotation]; ok {
		return argoHookReason(hook)
	}
	hook, ok := r.Annotations[helmHookAnnotation]
	switch {
	case !ok, hook == "crd-install":
		return ""
	case !byArgo:
		return fmt.Sprintf("annotation %s: %s: Helm creates it around an install or upgrade, not with it", helmHookAnnotation, hook)
	case len(argoPhases(hook, helmPhases())) > 0:
		return ""
	}
	return fmt.Sprintf("annotation %s: %s: Argo CD does not create it in a sync", helmHookAnnotation, hook)
}

// argoHookReason looks for a phase in which a sync creates the hook.
func argoHookReason(hook string) string {
	names := splitList(hook)
	if slices.Contains(names, "Skip") {
		return fmt.Sprintf("annotation %s: %s: Argo CD never applies it", argoHookAnnotation, hook)
	}
	for _, name := range names {
		switch name {
		case "PreSync", "Sync", "PostSync":
			return ""
		case "SyncFail", "PreDelete", "PostDelete":
		default:
			return fmt.Sprintf("annotation %s: %s: Argo CD knows no such hook", argoHookAnnotation, strings.TrimSpace(name))
		}
	}
	return fmt.Sprintf("annotation %s: %s: Argo CD creates it when a sync fails or the application is deleted, not in a sync", argoHookAnnotation, hook)
}
