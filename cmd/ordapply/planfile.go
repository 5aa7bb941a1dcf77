package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/outfile"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state"
)

// planFile is a plan that was looked at, to be applied as it is or not at all. It
// is data: it says what is applied, and cannot make apply run a program, use other
// credentials or ask another server. It holds no manifests, and nothing that is
// made of the values of Secrets: of each resource a seal, which another preview
// must bring forth again.
type planFile struct {
	Version   int                 `json:"version"`
	Server    string              `json:"server"`
	Cluster   string              `json:"cluster,omitempty"` // uid of its namespace kube-system, where that may be read
	Flags     map[string][]string `json:"flags,omitempty"`   // that apply takes from the file
	Build     *planBuild          `json:"build,omitempty"`   // nil: the manifests are not built
	Resources []sealedResource    `json:"resources"`
	Hooks     []sealedHook        `json:"hooks,omitempty"` // that run around them
}

// planBuild says how the manifests were built, for messages alone.
type planBuild struct {
	Kustomize string   `json:"kustomize"`
	Allowed   []string `json:"allowed,omitempty"` // flags that let it run functions
}

type sealedResource struct {
	planID
	Wave   int          `json:"wave"`
	Action apply.Action `json:"action"`
	Seal   string       `json:"seal"`
}

// planFileVersion is that of what a plan file says, and how.
const planFileVersion = 2

// save writes the plan to a file, which only the user can read if it is new. One that
// shows an error is not for applying.
func (p *previewed) save(ctx context.Context, name string, flags map[string][]string, build *planBuild) error {
	cluster, err := state.ClusterID(ctx, p.target.cluster)
	if err != nil {
		return err
	}
	out := planFile{Version: planFileVersion, Server: keptURL(p.target.server), Cluster: cluster, Flags: flags, Build: build}
	for _, row := range p.preview.Rows {
		out.Resources = append(out.Resources, sealed(row))
	}
	out.Hooks = sealedHooks(p.hooks)
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	if err := outfile.Write(ctx, name, 0o600, append(text, '\n')); err != nil {
		return fmt.Errorf("--out=%s: %w", name, err)
	}
	return nil
}

func sealed(row apply.Row) sealedResource {
	return sealedResource{planID: idInJSON(row.ID), Wave: row.Wave, Action: row.Action, Seal: row.Seal()}
}

func readPlanFile(ctx context.Context, name string) (*planFile, error) {
	text, err := readFile(ctx, name, "--plan")
	if err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	return parsePlanFile(name, text)
}

// parsePlanFile reads the text of a plan file; name is for messages.
func parsePlanFile(name string, text []byte) (*planFile, error) {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil || head.Version == 0 {
		return nil, fmt.Errorf("%s is no plan: write one with ordapply plan --out %s", name, name)
	}
	if head.Version != planFileVersion {
		return nil, fmt.Errorf("%s was written by another version of ordapply: plan again", name)
	}
	file := &planFile{}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	err := strict.Decode(file)
	if err == nil {
		err = errors.Join(checkPlannedFlags(file.Flags), checkSealed(file.Resources))
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not as ordapply plan wrote it: plan again: %w", name, err)
	}
	return file, nil
}

// checkSealed refuses resources that no plan has.
func checkSealed(resources []sealedResource) error {
	seen := map[planID]bool{}
	for n, r := range resources {
		switch {
		case r.Kind == "" || r.Name == "":
			return fmt.Errorf("resources[%d] has no kind or no name", n)
		case seen[r.planID]:
			return fmt.Errorf("resources[%d]: %s is there already", n, r.id())
		case !slices.Contains(apply.Actions(), r.Action) || r.Action == apply.WillFail:
			return fmt.Errorf("resources[%d]: %q is nothing that apply does", n, r.Action)
		case r.Seal == "":
			return fmt.Errorf("resources[%d] has no seal", n)
		}
		seen[r.planID] = true
	}
	return nil
}

func (id planID) id() object.ID {
	return object.ID{Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

// check refuses to go on unless a new preview says the very same, but for what
// was made since, after a first check. All that differs is named.
func (file *planFile) check(ctx context.Context, t *target, preview *apply.Preview, made []object.ID) error {
	now, err := state.ClusterID(ctx, t.cluster)
	if err != nil {
		return err
	}
	if err := file.sameCluster(now, keptURL(t.server)); err != nil {
		return err
	}
	if err := preview.Err(); err != nil {
		return err
	}
	moved := file.moved(preview.Rows, made)
	if len(moved) == 0 {
		return nil
	}
	errs := []error{errors.New("the cluster or the manifests are not what they were when the plan was made: nothing was applied, plan again")}
	for _, one := range moved {
		errs = append(errs, errors.New(one))
	}
	return errors.Join(errs...)
}

// sameCluster refuses another cluster than the one that the plan was made for: by
// its identity, or by its address where one of the two could not be read.
func (file *planFile) sameCluster(cluster, server string) error {
	const remedy = "nothing was applied; name the cluster with --context or --kubeconfig, which a plan does not keep, or plan again"
	switch known := file.Cluster != "" && cluster != ""; {
	case known && cluster != file.Cluster:
		return fmt.Errorf("the plan was made for another cluster, at %s, and this is %s: %s", file.Server, server, remedy)
	case !known && server != file.Server:
		return fmt.Errorf("the plan was made for the cluster at %s, this is %s, and whether that is the same cluster cannot be read (namespace kube-system): %s", file.Server, server, remedy)
	}
	return nil
}

// notes say what the file does not pin down.
func (file *planFile) notes() []string {
	var names []string
	for _, r := range file.Resources {
		if r.Kind == "Secret" && r.Group == "" && r.Action != apply.WillStay && r.Action != apply.WillPrune {
			names = append(names, r.id().String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{"a plan holds nothing of the values of Secrets: " + strings.Join(names, ", ") + " will have those that the manifests have now"}
}

// moved lists the rows of a new preview that are not as they were planned.
func (file *planFile) moved(rows []apply.Row, made []object.ID) []string {
	planned := map[planID]sealedResource{}
	for _, r := range file.Resources {
		planned[r.planID] = r
	}
	var moved []string
	for _, row := range rows {
		now := sealed(row)
		if was := planned[now.planID]; was != now && !slices.Contains(made, row.ID) {
			moved = append(moved, fmt.Sprintf("%s: %s", row.ID, was.difference(now)))
		}
		delete(planned, now.planID)
	}
	for id, was := range planned {
		now := "not in the manifests"
		if was.Action == apply.WillPrune {
			now = "gone, or no member of the set"
		}
		moved = append(moved, fmt.Sprintf("%s: planned %s, now %s", id.id(), was.Action, now))
	}
	slices.Sort(moved)
	return moved
}

// difference says what is not as it was planned.
func (was sealedResource) difference(now sealedResource) string {
	switch {
	case was.Seal == "":
		return fmt.Sprintf("not planned, now %s", now.Action)
	case was.Action != now.Action:
		return fmt.Sprintf("planned %s, now %s", was.Action, now.Action)
	case was.Wave != now.Wave:
		return fmt.Sprintf("planned in wave %d, now in wave %d", was.Wave+1, now.Wave+1)
	}
	return fmt.Sprintf("planned %s, and still %s, but other fields", was.Action, now.Action)
}
