package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/view/drawing"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

func newExplain(c *console.Console) *cobra.Command {
	var in input.Offline
	cmd := &cobra.Command{
		Use:   "explain KIND/NAME -f FILE",
		Short: "Explain one resource: its wave, dependencies and dependents, without a cluster",
		Example: `  ordapply explain deployment/web -f app.yaml
  ordapply explain Widget.example.com/one -n shop -f app.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, name, ok := strings.Cut(args[0], "/")
			if ok && (kind == "" || name == "") {
				return usage.Errorf("%q is not KIND/NAME, such as deployment/web", args[0])
			}
			plan, err := in.Plan(cmd.Context(), c)
			if err != nil {
				return err
			}
			if !ok {
				return withoutKind(plan, args[0])
			}
			namespace := ""
			if cmd.Flags().Changed("namespace") {
				namespace = in.Namespace
			}
			id, err := find(plan, kind, name, namespace)
			if err != nil {
				return err
			}
			_, err = drawing.Explain(c.Out, plan, id)
			return errors.Join(err, plan.Err())
		},
	}
	in.Register(cmd.Flags())
	return cmd
}

// withoutKind returns the error for a name without a kind, with the resources of that name.
func withoutKind(plan *ordering.Plan, name string) error {
	var named []string
	for _, id := range resourcesOf(plan) {
		if id.Name == name {
			named = append(named, id.Kind+"/"+id.Name)
		}
	}
	if len(named) == 0 {
		return usage.Errorf("%q is not KIND/NAME, such as deployment/web", name)
	}
	return usage.Errorf("%q is not KIND/NAME: write %s", name, strings.Join(named, " or "))
}

// resourcesOf returns every resource that a plan knows.
func resourcesOf(plan *ordering.Plan) []object.ID {
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
	return ids
}

// find returns the resource with a kind and a name. The kind may be lower case,
// plural, short or qualified by its group. The namespace is required if the
// name is ambiguous.
func find(plan *ordering.Plan, kind, name, namespace string) (object.ID, error) {
	ids := resourcesOf(plan)
	var all []string
	for _, id := range ids {
		all = append(all, id.Kind+"/"+id.Name)
	}
	found := slices.DeleteFunc(ids, func(id object.ID) bool {
		return id.Name != name || !input.IsKind(id, kind) || namespace != "" && id.Namespace != "" && id.Namespace != namespace
	})
	switch len(found) {
	case 0:
		return object.ID{}, fmt.Errorf("the stream contains no %s %s (ordapply plan lists its resources)%s", kind, name, nearest.DidYouMean(kind+"/"+name, all))
	case 1:
		return found[0], nil
	}
	var names []string
	for _, id := range found {
		names = append(names, id.GroupKind()+" "+id.Namespace+"/"+id.Name)
	}
	return object.ID{}, fmt.Errorf("%s/%s may be %s: name the namespace with -n, or the kind with its group", kind, name, strings.Join(names, " or "))
}
