package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMadeVolumes: only a folder that the provisioner itself made in its own place is ever removed.
func TestMadeVolumes(t *testing.T) {
	const binder = "system:serviceaccount:kube-system:persistent-volume-binder"
	event := func(verb, resource, user, path string) string {
		return fmt.Sprintf(`{"verb":%q,"objectRef":{"resource":%q},"user":{"username":%q},"requestObject":{"spec":{"hostPath":{"path":%q}}}}`,
			verb, resource, user, path)
	}
	const made = "/tmp/hostpath_pv/5b0ab2cf-8a6b-4a0c-9c0d-0c2c4a1f0e11"
	log := strings.Join([]string{
		event("create", "persistentvolumes", binder, made),
		event("create", "persistentvolumes", "admin", made[:len(made)-1]+"2"),
		event("patch", "persistentvolumes", binder, made[:len(made)-1]+"3"),
		event("create", "pods", binder, made[:len(made)-1]+"4"),
		event("create", "persistentvolumes", binder, "/tmp/hostpath_pv/../../etc"),
		event("create", "persistentvolumes", binder, "/tmp/hostpath_pv"),
		event("create", "persistentvolumes", binder, "/home/tmp/hostpath_pv/5b0ab2cf-8a6b-4a0c-9c0d-0c2c4a1f0e11"),
		`not JSON /tmp/hostpath_pv`,
		event("create", "persistentvolumes", binder, made[:len(made)-1]+"5"),
		event("create", "persistentvolumes", binder, made)[:200],
	}, "\n")
	paths, err := madeVolumes(strings.NewReader(log))
	require.NoError(t, err)
	require.Equal(t, []string{made, made[:len(made)-1] + "5"}, paths)
}
