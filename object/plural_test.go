package object_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/object"
)

func TestGuessPlural(t *testing.T) {
	for kind, plural := range map[string]string{
		"Deployment": "deployments", "Ingress": "ingresses", "NetworkPolicy": "networkpolicies", "Gateway": "gateways",
		"Endpoints": "endpoints", "Mailbox": "mailboxes", "APIKey": "apikeys", "Batch": "batches", "StorageClass": "storageclasses",
	} {
		require.Equal(t, plural, object.GuessPlural(kind))
	}
}
