package stamp

import "strings"

// The tools, as emit names them.
const (
	ArgoCD = "argocd"
	Kpt    = "kpt"
	Kapp   = "kapp"
)

// Tools returns all tools, in the order of messages.
func Tools() []string { return []string{ArgoCD, Kpt, Kapp} }

const (
	// SyncWave orders resources within a phase of Argo CD: an integer, lowest first.
	SyncWave = "argocd.argoproj.io/sync-wave"
	// DependsOn is read by kpt live apply and Config Sync: a comma-separated list of
	// group/namespaces/namespace/kind/name, or group/kind/name for cluster-scoped
	// resources; the core group is empty.
	DependsOn = "config.kubernetes.io/depends-on"
	// ChangeGroup and ChangeRule are kapp's keys: a rule orders changes of a resource
	// after changes of a group. kapp permits several, distinguished by a suffix of the
	// key, so that ours do not conflict with the author's.
	ChangeGroup = "kapp.k14s.io/change-group.ordapply"
	ChangeRule  = "kapp.k14s.io/change-rule.ordapply-"
)

// kpt stores the position of a resource in its file as an index, under two keys that
// must agree.
const (
	Index       = "internal.config.kubernetes.io/index"
	LegacyIndex = "config.kubernetes.io/index"
)

// KustomizeID marks a resource that kustomize passed to a function.
const KustomizeID = "kustomize.config.k8s.io/id"

// Belongs reports whether emit writes this annotation for a tool.
func Belongs(tool, key string) bool {
	switch tool {
	case ArgoCD:
		return key == SyncWave
	case Kpt:
		return key == DependsOn
	case Kapp:
		return strings.HasPrefix(key, ChangeGroup) || strings.HasPrefix(key, ChangeRule)
	}
	return false
}
