package argocd

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/health"
)

// An Application is healthy when it is, and is synced, with the revision that it asks for.
func TestHealthOfAnApplication(t *testing.T) {
	checks, err := health.ParseArgoCD(map[string]string{"resource.customizations.health.argoproj.io_Application": applicationHealth})
	require.NoError(t, err)
	for status, want := range map[string]health.Verdict{
		`{}`:                          health.Progressing,
		`{health: {status: Healthy}}`: health.Progressing,
		`{health: {status: Degraded}, sync: {status: Synced}}`:                                                health.Failed,
		`{health: {status: Missing}, sync: {status: OutOfSync}}`:                                              health.Progressing,
		`{health: {status: Healthy}, sync: {status: OutOfSync, comparedTo: {source: {targetRevision: v2}}}}`:  health.Progressing,
		`{health: {status: Healthy}, sync: {status: Synced, comparedTo: {source: {targetRevision: v1}}}}`:     health.Progressing,
		`{health: {status: Healthy}, sync: {status: Synced}}`:                                                 health.Progressing,
		`{health: {status: Healthy}, sync: {status: Synced, comparedTo: {source: {targetRevision: v2}}}}`:     health.Ready,
		`{health: {status: Progressing}, sync: {status: Synced, comparedTo: {source: {targetRevision: v2}}}}`: health.Progressing,
	} {
		obj := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte("{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: x}, spec: {source: {targetRevision: v2}}, status: "+status+"}"), &obj.Object))
		require.Equal(t, want, (&health.Assessor{ArgoCD: checks}).Assess(obj).Verdict, status)
	}
}
