package flags

import "slices"

// topic is a group of flags. Few people need the further ones.
type topic struct {
	title           string
	common, further []string
}

// topics are the groups of flags in the order of the help. The last one has all other
// flags.
func topics() []topic {
	return []topic{
		{
			"Manifests:",
			[]string{"filename", "kustomize", "recursive", "selector", "namespace"},
			[]string{"enable-alpha-plugins", "enable-exec", "chart"},
		},
		{
			"Order:",
			[]string{"order", "require-order", "schedule"},
			[]string{"frame", "hooks", "ordering", "prerequisites", "prerequisite-kinds"},
		},
		{
			"Apply set:",
			[]string{"applyset", "prune", "rollback-on-failure", "adopt", "message"},
			[]string{"history-limit", "history-secrets", "lock-timeout", "prune-namespaces", "take-over"},
		},
		{
			"Waiting:",
			[]string{"wait", "timeout", "wave-timeout", "health-rules"},
			[]string{"argocd-cm", "argocd-health", "crd-timeout", "kind-timeout", "status-grace", "strict-readiness", "diagnosis"},
		},
		{
			"Writing:",
			[]string{"dry-run", "plan", "force-conflicts", "yes"},
			[]string{"create-namespace", "field-manager", "keep-going"},
		},
		{
			"Output:",
			[]string{"output", "report", "metrics-file", "out", "quiet"},
			[]string{"no-live", "metrics-label"},
		},
		{title: "Flags:"},
	}
}

func topicOf(flag string) topic {
	all := topics()
	for _, t := range all {
		if slices.Contains(t.common, flag) || slices.Contains(t.further, flag) {
			return t
		}
	}
	return all[len(all)-1]
}

func (t topic) isFurther(flag string) bool { return slices.Contains(t.further, flag) }
