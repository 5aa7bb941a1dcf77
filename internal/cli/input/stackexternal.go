package input

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// readExternal reads the external resources of an application, which are not applied:
// fields about applying are errors, and so are selectors of the stream's resources.
func readExternal(field string, spec sortorder.Application) ([]object.ID, error) {
	if spec.External == nil {
		return nil, nil
	}
	if len(spec.External) == 0 {
		return nil, fmt.Errorf("%s.external: the list is empty: name the resources to wait for, such as {apiVersion: apps/v1, kind: Deployment, namespace: argocd, name: argocd-server}", field)
	}
	var errs []error
	for _, name := range fieldsNotForExternal(spec) {
		errs = append(errs, fmt.Errorf("%s.%s: the application is external and is not applied here: remove %s or external", field, name, name))
	}
	var ids []object.ID
	for i, ref := range spec.External {
		id, err := externalID(ref)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s.external[%d]: %w", field, i, err))
		case slices.Contains(ids, id):
			errs = append(errs, fmt.Errorf("%s.external[%d]: duplicate %s: remove it", field, i, id))
		}
		ids = append(ids, id)
	}
	return ids, errors.Join(errs...)
}

// fieldsNotForExternal returns the fields that an external application cannot
// have.
func fieldsNotForExternal(spec sortorder.Application) []string {
	names := spec.Conditions()
	if len(spec.DependsOn) > 0 {
		names = append(names, "dependsOn")
	}
	if spec.Timeout != "" {
		names = append(names, "timeout")
	}
	if spec.Optional {
		names = append(names, "optional")
	}
	return names
}

func externalID(s sortorder.External) (object.ID, error) {
	gv, err := schema.ParseGroupVersion(s.APIVersion)
	switch {
	case s.Kind == "" || s.Name == "":
		return object.ID{}, errors.New("it names no resource: write its apiVersion, kind and name, and its namespace if it has one")
	case err != nil || s.APIVersion == "" || strings.HasSuffix(s.APIVersion, "/"):
		return object.ID{}, fmt.Errorf("apiVersion: %q is not valid: write it as in a manifest, such as apps/v1", s.APIVersion)
	}
	return object.ID{Group: gv.Group, Kind: s.Kind, Namespace: s.Namespace, Name: s.Name}, nil
}
