package apply

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCalledAlike(t *testing.T) {
	require.True(t, calledAlike("acme-operator", "acme-operator"))
	require.True(t, calledAlike("cert-manager", "cert-manager-certificates-issuing"))
	require.True(t, calledAlike("acme-operator-controller", "acme-operator"))
	require.False(t, calledAlike("operator", "acme-operator"))
	require.False(t, calledAlike("controller-manager", "manager"))
	require.False(t, calledAlike("acme", "acmeoperator"))
}
