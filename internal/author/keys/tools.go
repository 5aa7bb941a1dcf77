package keys

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/object"
)

// CheckTools finds annotations and labels of Argo CD, Flux, Helm, kapp and cli-utils without
// effect in ordapply, and keys that are nearly these tools' own. All results are remarks.
func CheckTools(metas []object.Meta) []Found {
	return gather(metas, func(m object.Meta) []Found {
		found := toolKeys(m.Annotations)
		for _, f := range toolKeys(m.Labels) {
			if !slices.ContainsFunc(found, func(known Found) bool { return known.Key == f.Key }) {
				found = append(found, f)
			}
		}
		return found
	})
}

func toolKeys(all map[string]string) []Found {
	var found []Found
	for _, key := range slices.Sorted(maps.Keys(all)) {
		domain, name, _ := strings.Cut(key, "/")
		known, ofTool := tools()[domain]
		if !ofTool {
			continue
		}
		if note := undone(key, all[key]); note != "" {
			found = append(found, Found{Key: key, Message: note, Remark: true})
		}
		if near := nearest.DidYouMean(name, known); near != "" && !isKnown(name, known) {
			found = append(found, Found{Key: key, Message: "unknown key " + key + strings.Replace(near, "mean ", "mean "+domain+"/", 1), Remark: true})
		}
	}
	return found
}

// isKnown reports whether a name is a known one, which kapp may extend by a suffix.
func isKnown(name string, known []string) bool {
	return slices.ContainsFunc(known, func(k string) bool { return name == k || strings.HasPrefix(name, k+".") })
}

const recreateInstead = "; ordapply.dev/on-immutable: recreate has an object recreated if a field cannot be changed"

// undone returns the remark about an annotation or label without effect; "" when it has
// its effect, or is about something else.
func undone(key, value string) string {
	switch key {
	case "argocd.argoproj.io/sync-options":
		return undoneOption(key, value)
	case "argocd.argoproj.io/ignore-healthcheck":
		if value == "true" {
			return key + " has no effect: a wave waits for the object, as a sync wave of Argo CD does; with ordapply.dev/wait: applied it does not"
		}
	case "kustomize.toolkit.fluxcd.io/force":
		if strings.EqualFold(value, "enabled") {
			return key + ": " + value + " has no effect" + recreateInstead
		}
	case "helm.toolkit.fluxcd.io/driftDetection":
		if strings.EqualFold(value, "disabled") {
			return key + ": " + value + " has no effect: an apply reverts changes of the fields in the manifest; ordapply.dev/ignore-fields leaves fields to others"
		}
	case "kapp.k14s.io/update-strategy":
		if value == "fallback-on-replace" || value == "always-replace" {
			return key + ": " + value + " has no effect: objects are changed by server-side apply" + recreateInstead
		}
	case "kapp.k14s.io/versioned", "kapp.k14s.io/versioned-keep-original":
		return key + " has no effect: the object keeps its name, and an apply changes it in place; configMapGenerator and secretGenerator of kustomize make a new name for each content"
	case "kapp.k14s.io/nonce", "kapp.k14s.io/renew-duration":
		return key + " has no effect: an object is applied only if its manifest has changed"
	case "kapp.k14s.io/disable-wait":
		return key + " has no effect: the object is waited for; with ordapply.dev/wait: applied it is not"
	}
	return ""
}

// undoneOption is undone for the sync options of Argo CD.
func undoneOption(key, list string) string {
	for item := range strings.SplitSeq(list, ",") {
		switch item = strings.TrimSpace(item); item {
		case "Replace=true", "Force=true":
			return key + ": " + item + " has no effect: objects are changed by server-side apply" + recreateInstead
		case "Validate=false":
			return key + ": " + item + " has no effect: unknown fields are rejected"
		}
	}
	return ""
}

// tools are the names of the tools' keys, by domain.
var tools = sync.OnceValue(func() map[string][]string {
	return map[string][]string{
		"argocd.argoproj.io": {
			"sync-options", "sync-wave", "hook", "hook-delete-policy", "compare-options", "ignore-healthcheck", "tracking-id", "instance",
			"refresh", "hydrate", "ignore-default-links", "manifest-generate-paths", "installation-id", "ignore-resource-updates", "managed-by", "secret-type", "skip-reconcile",
		},
		"kustomize.toolkit.fluxcd.io": {"ssa", "prune", "force", "reconcile", "name", "namespace", "decrypt", "substitute", "checksum"},
		"helm.toolkit.fluxcd.io":      {"driftDetection", "name", "namespace"},
		"kapp.k14s.io": {
			"app", "association", "change-group", "change-rule", "create-strategy", "update-strategy", "delete-strategy", "disable-wait",
			"disable-associated-resources-wait", "disable-original", "exists", "noop", "versioned", "versioned-keep-original", "versioned-explicit-ref", "num-versions",
			"nonce", "renew-duration", "last-renewed-time", "deploy-logs", "deploy-logs-container-names", "identity", "original", "original-diff", "original-diff-md5",
			"original-diff-full", "owned-for-deletion", "orphaned", "app-group", "config", "is-app", "is-app-change", "disable-label-scoping", "disable-default-label-scoping-rules",
			"disable-default-ownership-label-rules", "disable-default-change-group-and-rules", "apps-v1-deployment-wait-minimum-replicas-available", "app-changes-use-app-label",
		},
		"helm.sh": {
			"hook", "hook-weight", "hook-delete-policy", "hook-output-log-policy", "resource-policy", "chart", "resource-group", "layer", "readiness-success", "readiness-failure",
			"readiness-timeout", "depends-on/resource-groups", "depends-on/layers", "depends-on/subcharts",
		},
		"client.lifecycle.config.k8s.io": {"deletion", "mutation"},
		"cli-utils.sigs.k8s.io":          {"on-remove", "inventory-id", "inventory-hash"},
		"config.kubernetes.io":           {"apply-time-mutation", "depends-on", "local-config", "index", "path", "function", "origin", "merge-source", "owning-inventory"},
	}
})
