package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesMatch(t *testing.T) {
	require.True(t, namesMatch("acme-operator", "acme-operator"))
	require.True(t, namesMatch("cert-manager", "cert-manager-certificates-issuing"))
	require.True(t, namesMatch("acme-operator-controller", "acme-operator"))
	require.False(t, namesMatch("operator", "acme-operator"))
	require.False(t, namesMatch("controller-manager", "manager"))
	require.False(t, namesMatch("acme", "acmeoperator"))
}
