package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

func newExplain() *cobra.Command {
	var in offline
	cmd := &cobra.Command{
		Use:   "explain KIND/NAME -f FILE",
		Short: "Explain one resource: its wave, dependencies and dependents, without a cluster",
		Example: `  ordapply explain deployment/web -f app.yaml
  ordapply explain Widget.example.com/one -n shop -f app.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, name, ok := strings.Cut(args[0], "/")
			if !ok || kind == "" || name == "" {
				return usagef("%q is not KIND/NAME, such as deployment/web", args[0])
			}
			plan, err := in.plan(cmd)
			if err != nil {
				return err
			}
			namespace := ""
			if cmd.Flags().Changed("namespace") {
				namespace = in.namespace
			}
			id, err := find(plan, kind, name, namespace)
			if err != nil {
				return err
			}
			_, err = plan.Explain(cmd.OutOrStdout(), id)
			return err
		},
	}
	in.register(cmd)
	return cmd
}

// find returns the resource with a kind and a name. The kind may be lower case,
// plural, short or qualified by its group. The namespace is required if the
// name is ambiguous.
func find(plan *ordering.Plan, kind, name, namespace string) (object.ID, error) {
	var ids []object.ID
	for _, s := range plan.Steps {
		ids = append(ids, s.ID)
	}
	for _, s := range plan.Skipped {
		ids = append(ids, s.ID)
	}
	for _, h := range plan.Hooks {
		if !slices.Contains(ids, h.ID) { // a hook may run on several events
			ids = append(ids, h.ID)
		}
	}
	found := slices.DeleteFunc(ids, func(id object.ID) bool {
		return id.Name != name || !isKind(id, kind) || namespace != "" && id.Namespace != "" && id.Namespace != namespace
	})
	switch len(found) {
	case 0:
		return object.ID{}, fmt.Errorf("the stream contains no %s %s; ordapply plan lists its resources", kind, name)
	case 1:
		return found[0], nil
	}
	var names []string
	for _, id := range found {
		names = append(names, id.GroupKind()+" "+id.Namespace+"/"+id.Name)
	}
	return object.ID{}, fmt.Errorf("%s/%s may be %s: name the namespace with -n, or the kind with its group", kind, name, strings.Join(names, " or "))
}

func isKind(id object.ID, kind string) bool {
	kind = strings.ToLower(kind)
	if long, ok := shortNames()[kind]; ok {
		kind = long
	}
	for _, own := range []string{strings.ToLower(id.Kind), strings.ToLower(id.GroupKind())} {
		word, group, _ := strings.Cut(own, ".")
		for _, form := range []string{word, word + "s", word + "es", strings.TrimSuffix(word, "y") + "ies"} {
			if group != "" {
				form += "." + group
			}
			if form == kind {
				return true
			}
		}
	}
	return false
}

// shortNames returns kubectl's short names of common kinds.
func shortNames() map[string]string {
	return map[string]string{
		"cj": "cronjob.batch", "cm": "configmap", "crd": "customresourcedefinition.apiextensions.k8s.io", "deploy": "deployment.apps", "ds": "daemonset.apps",
		"hpa": "horizontalpodautoscaler.autoscaling", "ing": "ingress.networking.k8s.io", "netpol": "networkpolicy.networking.k8s.io", "ns": "namespace",
		"pdb": "poddisruptionbudget.policy", "po": "pod", "pv": "persistentvolume", "pvc": "persistentvolumeclaim", "rs": "replicaset.apps",
		"sa": "serviceaccount", "sc": "storageclass.storage.k8s.io", "sts": "statefulset.apps", "svc": "service",
	}
}
