package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/plan"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// PlanFile is a reviewed plan that is applied exactly as it is, or not at all.
// It is data: it cannot make apply run a program, use other credentials or
// contact another server. It contains no manifests and nothing derived from
// values of Secrets, only a digest of each resource that a new preview must
// reproduce.
type PlanFile struct {
	Version   int                `json:"version"`
	Server    string             `json:"server"`
	Cluster   string             `json:"cluster,omitempty"`   // UID of the namespace kube-system, if it could be read
	Namespace string             `json:"namespace,omitempty"` // of -n
	Operation Preview            `json:"operation"`
	Build     *planBuild         `json:"build,omitempty"` // nil if the manifests are not built
	Resources []planFileResource `json:"resources"`
	Hooks     []planFileHook     `json:"hooks,omitempty"` // the hooks around them
}

// planBuild records how the manifests were built, only for messages.
type planBuild struct {
	Kustomize string   `json:"kustomize"`
	Allowed   []string `json:"allowed,omitempty"` // flags that allowed functions to run
}

type planFileResource struct {
	object.ID
	Wave   int            `json:"wave"`
	Action preview.Action `json:"action"`
	Digest string         `json:"seal"`
}

// planFileVersion is the version of the plan file format.
const planFileVersion = 3

// save writes the plan to a file. A new file is readable by the user only. A
// plan with errors is not for applying.
func (p *Plan) save(ctx context.Context, previewed *plan.Previewed) error {
	target := previewed.Target
	cluster, err := kube.ClusterID(ctx, target.Cluster)
	if err != nil {
		return err
	}
	out := PlanFile{Version: planFileVersion, Server: input.RedactedURL(target.Server), Cluster: cluster, Namespace: *p.Cluster.Namespace}
	out.Operation, out.Build = p.stored()
	for _, row := range previewed.Preview.Rows {
		out.Resources = append(out.Resources, newPlanFileResource(row))
	}
	out.Hooks = planFileHooks(previewed.Hooks)
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	if err := files.Write(ctx, p.Out, 0o600, append(text, '\n')); err != nil {
		return fmt.Errorf("--out=%s: %w", p.Out, err)
	}
	return nil
}

// stored returns the options as a plan file stores them: without credentials, and without the
// build of a kustomization, which it only describes.
func (p *Preview) stored() (Preview, *planBuild) {
	out := *p
	out.Files = slices.Clone(p.Files)
	for i, file := range out.Files {
		out.Files[i] = input.RedactedURL(file)
	}
	if p.Kustomize == "" {
		return out, nil
	}
	build := &planBuild{Kustomize: input.RedactedURL(p.Kustomize)}
	if p.Plugins {
		build.Allowed = append(build.Allowed, "enable-alpha-plugins")
	}
	if p.Exec {
		build.Allowed = append(build.Allowed, "enable-exec")
	}
	return out, build
}

func newPlanFileResource(row preview.Row) planFileResource {
	return planFileResource{ID: row.ID, Wave: row.Wave, Action: row.Action, Digest: row.Digest()}
}

// ReadPlanFile reads a plan file. Its error names the file and its fault.
func ReadPlanFile(ctx context.Context, name string) (*PlanFile, error) {
	text, err := abortable.ReadFile(ctx, name, "--plan")
	if err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	return parsePlanFile(name, text)
}

// parsePlanFile parses a plan file; name is for messages.
func parsePlanFile(name string, text []byte) (*PlanFile, error) {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil || head.Version == 0 {
		return nil, fmt.Errorf("%s is not a plan: write one with ordapply plan --out %s", name, name)
	}
	if head.Version != planFileVersion {
		return nil, fmt.Errorf("%s was written by another version of ordapply: plan again", name)
	}
	file := &PlanFile{Operation: NewPreview()}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	err := strict.Decode(file)
	if err == nil {
		err = errors.Join(file.Operation.check(), checkPlanFileResources(file.Resources))
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a valid plan: plan again: %s", name, err.Error()) // the file is wrong, not the command line
	}
	return file, nil
}

// checkPlanFileResources validates the resources of a plan file.
func checkPlanFileResources(resources []planFileResource) error {
	seen := map[object.ID]bool{}
	for n, r := range resources {
		switch {
		case r.Kind == "" || r.Name == "":
			return fmt.Errorf("resources[%d] has no kind or name", n)
		case seen[r.ID]:
			return fmt.Errorf("resources[%d]: duplicate %s", n, r.ID)
		case !slices.Contains(preview.Actions(), r.Action) || r.Action == preview.ActionError:
			return fmt.Errorf("resources[%d]: unknown action %q", n, r.Action)
		case r.Digest == "":
			return fmt.Errorf("resources[%d] has no digest", n)
		}
		seen[r.ID] = true
	}
	return nil
}

// Source returns the kustomization that the manifests of the plan were built from, "" for none,
// and the flags that let its functions run. A plan file cannot set either.
func (file *PlanFile) Source() (kustomization string, allowed []string) {
	if file.Build == nil {
		return "", nil
	}
	return file.Build.Kustomize, file.Build.Allowed
}

// Check returns an error unless a new preview equals the plan, except for
// objects in made, which were created since an earlier check. The error lists
// all differences.
func (file *PlanFile) Check(ctx context.Context, t *connect.Target, preview *preview.Preview, made []object.ID) error {
	now, err := kube.ClusterID(ctx, t.Cluster)
	if err != nil {
		return err
	}
	if err := file.sameCluster(now, input.RedactedURL(t.Server)); err != nil {
		return err
	}
	if err := preview.Err(); err != nil {
		return err
	}
	moved := file.differences(preview.Rows, made)
	if len(moved) == 0 {
		return nil
	}
	errs := []error{errors.New("the cluster or the manifests have changed since the plan was made: nothing was applied, plan again")}
	for _, one := range moved {
		errs = append(errs, errors.New(one))
	}
	return errors.Join(errs...)
}

// sameCluster returns an error if the plan was made for another cluster: by the
// cluster's ID, or by its address if one of the IDs could not be read.
func (file *PlanFile) sameCluster(cluster, server string) error {
	const remedy = "nothing was applied; name the cluster with --context or --kubeconfig, which a plan does not store, or plan again"
	switch known := file.Cluster != "" && cluster != ""; {
	case known && cluster != file.Cluster:
		return fmt.Errorf("the plan was made for another cluster, at %s, and this one is at %s: %s", file.Server, server, remedy)
	case !known && server != file.Server:
		return fmt.Errorf("the plan was made for the cluster at %s, this one is at %s, and whether they are the same is unknown, because namespace kube-system cannot be read: %s", file.Server, server, remedy)
	}
	return nil
}

// Notes returns remarks about the Secrets' unpinned values.
func (file *PlanFile) Notes() []string {
	var names []string
	for _, r := range file.Resources {
		if r.Kind == "Secret" && r.Group == "" && r.Action != preview.ActionUnchanged && r.Action != preview.ActionPrune {
			names = append(names, r.ID.String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{"a plan does not contain the values of Secrets: " + strings.Join(names, ", ") + " will get the values that the manifests have now"}
}

// differences returns the rows of a new preview that differ from the plan.
func (file *PlanFile) differences(rows []preview.Row, made []object.ID) []string {
	planned := map[object.ID]planFileResource{}
	for _, r := range file.Resources {
		planned[r.ID] = r
	}
	var moved []string
	for _, row := range rows {
		now := newPlanFileResource(row)
		if was := planned[now.ID]; was != now && !slices.Contains(made, row.ID) {
			moved = append(moved, fmt.Sprintf("%s: %s", row.ID, was.difference(now)))
		}
		delete(planned, now.ID)
	}
	for id, was := range planned {
		now := "not in the manifests"
		if was.Action == preview.ActionPrune {
			now = "gone, or not a member of the set"
		}
		moved = append(moved, fmt.Sprintf("%s: planned %s, now %s", id, was.Action, now))
	}
	slices.Sort(moved)
	return moved
}

// difference describes a resource's difference from its plan.
func (was planFileResource) difference(now planFileResource) string {
	switch {
	case was.Digest == "":
		return fmt.Sprintf("not planned, now %s", now.Action)
	case was.Action != now.Action:
		return fmt.Sprintf("planned %s, now %s", was.Action, now.Action)
	case was.Wave != now.Wave:
		return fmt.Sprintf("planned in wave %d, now in wave %d", was.Wave+1, now.Wave+1)
	}
	return fmt.Sprintf("planned %s, still %s, but with different changes", was.Action, now.Action)
}
