package edges

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/ordering"
)

const (
	// ArgoHook is Argo CD's annotation with the phases of a hook.
	ArgoHook           = "argocd.argoproj.io/hook"
	helmHookAnnotation = "helm.sh/hook"
)

// WithoutHooks removes hooks that Argo CD or Helm do not create during an
// apply. They are errors unless options skip or keep them.
func WithoutHooks(resources []ordering.Resource, options ordering.Options) (kept []ordering.Resource, skipped []ordering.Skipped, err error) {
	if options.KeepHooks {
		return resources, nil, nil
	}
	byArgo := ArgoCDRunsHooks(resources, options.OrderSource)
	if !slices.ContainsFunc(resources, func(r ordering.Resource) bool { return hookReason(r, byArgo) != "" }) {
		return resources, nil, nil
	}
	var errs []error
	for _, r := range resources {
		why := hookReason(r, byArgo)
		switch {
		case why == "":
			kept = append(kept, r)
		case options.SkipHooks:
			skipped = append(skipped, ordering.Skipped{ID: r.ID, Why: ordering.Reason{Rule: "hook", Detail: why, Where: r.Source}})
		default:
			errs = append(errs, fmt.Errorf("%s: %s: remove it from the stream, or skip all such objects with --hooks=skip", r.Located(), why))
		}
	}
	return kept, skipped, errors.Join(errs...)
}

// withoutAnyHooks removes all hooks of Helm and Argo CD, because a hook may be
// deleted after it has run.
func withoutAnyHooks(resources []ordering.Resource) []ordering.Resource {
	return slices.DeleteFunc(slices.Clone(resources), func(r ordering.Resource) bool { return firstKey(r, ArgoHook, helmHookAnnotation) != "" })
}

// ArgoCDRunsHooks reports whether Helm's hooks are placed in Argo CD's phases,
// where they run as part of the plan: frame is, or detects, OrderSourceArgoCD.
func ArgoCDRunsHooks(resources []ordering.Resource, frame ordering.OrderSource) bool {
	return frame == ordering.OrderSourceArgoCD || frame == ordering.OrderSourceAuto && usesArgoCD(resources)
}

// IsArgoHook reports whether an object's annotations make it an Argo CD hook.
// They take precedence over Helm's.
func IsArgoHook(annotations map[string]string) bool {
	_, annotated := annotations[ArgoHook]
	return annotated
}

// usesArgoCD reports whether OrderSourceAuto selects Argo CD.
func usesArgoCD(resources []ordering.Resource) bool {
	return slices.ContainsFunc(resources, func(r ordering.Resource) bool { return argoKey(r) != "" }) &&
		!slices.ContainsFunc(resources, func(r ordering.Resource) bool { return stampKey(r) != "" || helmKey(r) != "" })
}

// hookReason returns why a resource is not part of an apply, or "".
func hookReason(r ordering.Resource, byArgo bool) string {
	if hook, ok := r.Annotations[ArgoHook]; ok {
		return argoHookReason(hook)
	}
	hook, ok := r.Annotations[helmHookAnnotation]
	switch {
	case !ok, hook == "crd-install":
		return ""
	case !byArgo:
		return fmt.Sprintf("annotation %s: %s: Helm creates it before or after an install or upgrade, not as part of it", helmHookAnnotation, hook)
	case len(argoPhases(hook, helmPhases())) > 0:
		return ""
	}
	return fmt.Sprintf("annotation %s: %s: Argo CD does not create it in a sync", helmHookAnnotation, hook)
}

// argoHookReason returns why no sync creates the hook, or "".
func argoHookReason(hook string) string {
	names := references.SplitList(hook)
	if slices.Contains(names, "Skip") {
		return fmt.Sprintf("annotation %s: %s: Argo CD never applies it", ArgoHook, hook)
	}
	for _, name := range names {
		switch name {
		case "PreSync", "Sync", "PostSync":
			return ""
		case "SyncFail", "PreDelete", "PostDelete":
		default:
			return fmt.Sprintf("annotation %s: %s: Argo CD has no such hook", ArgoHook, strings.TrimSpace(name))
		}
	}
	return fmt.Sprintf("annotation %s: %s: Argo CD creates it when a sync fails or the application is deleted, not in a sync", ArgoHook, hook)
}
