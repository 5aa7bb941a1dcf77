package health_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/health"
)

// RFC-DEPLOY-0001 §5: any Failed makes all Failed, else any Degraded or Missing
// Degraded, else any Progressing Progressing, else Healthy.
func TestAggregate(t *testing.T) {
	for _, c := range []struct {
		want     string
		verdicts []health.Verdict
	}{
		{"Healthy", nil},
		{"Healthy", []health.Verdict{health.Ready, health.Ready}},
		{"Progressing", []health.Verdict{health.Ready, health.Progressing, health.Ready}},
		{"Degraded", []health.Verdict{health.Progressing, health.Missing}},
		{"Degraded", []health.Verdict{health.Deleting, health.Ready}},
		{"Failed", []health.Verdict{health.Missing, health.Failed, health.Progressing}},
		{"Failed", []health.Verdict{health.Unknown, health.Ready}},
	} {
		require.Equal(t, c.want, health.Aggregate(c.verdicts...).String(), c.verdicts)
	}
}
