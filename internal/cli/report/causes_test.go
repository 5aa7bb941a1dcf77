package report

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/view/terminal"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Failures with the same cause are printed once, with their resources; with another cause,
// or in another wave, separately.
func TestErrorsAreGroupedByCause(t *testing.T) {
	failed := func(wave, name, why string) error {
		return &event.Error{Wave: wave, Op: event.OpApply, ID: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: name}, Err: errors.New(why)}
	}
	quota := func(name string) string { return fmt.Sprintf("configmaps %q is forbidden: exceeded quota", name) }
	faults := []error{
		failed("wave 1/2", "a", quota("a")),
		errors.New("the run is over"),
		failed("wave 1/2", "b", "too long"),
		failed("wave 1/2", "c", quota("c")),
		failed("wave 2/2", "d", quota("d")),
	}
	var output bytes.Buffer
	PrintErrors(&output, terminal.Shader(nil), faults)
	require.Equal(t, strings.TrimPrefix(`
error: wave 1/2: apply 2 resources: configmaps "…" is forbidden: exceeded quota
  ConfigMap shop/a
  ConfigMap shop/c
error: the run is over
error: wave 1/2: apply ConfigMap shop/b: too long
error: wave 2/2: apply ConfigMap shop/d: configmaps "d" is forbidden: exceeded quota
`, "\n"), output.String())
}

// Members of one set are counted in a sentence of their own, for all waves.
func TestMembersOfASet(t *testing.T) {
	var faults []error
	for i, wave := range []string{"wave 1/2", "wave 2/2"} {
		set := applyset.Parent{ID: object.ID{Kind: "Secret", Namespace: "default", Name: "mesh"}}
		faults = append(faults, &event.Error{Wave: wave, Op: event.OpApply, ID: object.ID{Kind: "ConfigMap", Name: fmt.Sprint(i)}, Err: &write.MemberError{Set: set}})
	}
	var output bytes.Buffer
	PrintErrors(&output, terminal.Shader(nil), faults)
	require.Equal(t, "error: 2 resources belong to apply set default/mesh: add --applyset mesh -n default\n  ConfigMap 0\n  ConfigMap 1\n", output.String())
}

func TestAFewOfManyResourcesAreNamed(t *testing.T) {
	var faults []error
	for i := range maxNamed + 2 {
		faults = append(faults, &event.Error{Wave: "wave 1/1", Op: event.OpApply, ID: object.ID{Kind: "ConfigMap", Name: fmt.Sprint(i)}, Err: errors.New("no")})
	}
	var output bytes.Buffer
	PrintErrors(&output, terminal.Shader(nil), faults)
	require.Equal(t, maxNamed+2, strings.Count(output.String(), "\n"))
	require.Contains(t, output.String(), "error: wave 1/1: apply 12 resources: no\n  ConfigMap 0\n")
	require.True(t, strings.HasSuffix(output.String(), "\n  and 2 more\n"), output.String())
}

// The remedy for refused credentials is printed once, whether the error has it or not.
func TestRefusedCredentialsAreExplainedOnce(t *testing.T) {
	refused := apierrors.NewUnauthorized("Unauthorized")
	for name, err := range map[string]error{"not explained": refused, "explained": fault.Explain(refused)} {
		var out strings.Builder
		PrintErrors(&out, terminal.Shader(nil), ordering.FlattenErrors(err))
		require.Equal(t, 1, strings.Count(out.String(), fault.LogInAdvice), "%s: %s", name, out.String())
	}
}
