package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state"
)

// planFile is a plan that somebody looked at, to be applied as it is or not at
// all. It holds no manifests, and so no Secrets: of each resource a seal, which
// another preview must bring forth again.
type planFile struct {
	Version   int                 `json:"version"`
	Server    string              `json:"server"`
	Cluster   string              `json:"cluster,omitempty"` // uid of its namespace kube-system, where that may be read
	Flags     map[string][]string `json:"flags,omitempty"`   // that the plan was made with
	Salt      []byte              `json:"salt"`
	Resources []sealedResource    `json:"resources"`
}

type sealedResource struct {
	planID
	Wave   int          `json:"wave"`
	Action apply.Action `json:"action"`
	Seal   string       `json:"seal"`
}

// planFileVersion is that of what a plan file says, and how.
const planFileVersion = 1

// save writes the plan to a file that only the user can read. One that shows an
// error is not for applying.
func (p *previewed) save(ctx context.Context, name string, flags map[string][]string) error {
	cluster, err := state.ClusterID(ctx, p.target.cluster)
	if err != nil {
		return err
	}
	out := planFile{Version: planFileVersion, Server: p.target.server, Cluster: cluster, Flags: flags, Salt: make([]byte, 32)}
	if _, err := rand.Read(out.Salt); err != nil {
		return fmt.Errorf("make a salt for the plan: %w", err)
	}
	for _, row := range p.preview.Rows {
		out.Resources = append(out.Resources, sealed(row, out.Salt))
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return writePrivate(name, append(text, '\n'))
}

func sealed(row apply.Row, salt []byte) sealedResource {
	return sealedResource{planID: idInJSON(row.ID), Wave: row.Wave, Action: row.Action, Seal: row.Seal(salt)}
}

// writePrivate writes a file of mode 0600, whole or not at all, whatever was
// there.
func writePrivate(name string, text []byte) error {
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-")
	if err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the plan: %w", err), os.Remove(file.Name()))
	}
	return nil
}

func readPlanFile(name string) (*planFile, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	file := &planFile{}
	if err := json.Unmarshal(text, file); err != nil || file.Version == 0 {
		return nil, fmt.Errorf("%s is no plan: write one with ordapply plan --out %s", name, name)
	}
	if file.Version != planFileVersion {
		return nil, fmt.Errorf("%s was written by another version of ordapply: plan again", name)
	}
	return file, nil
}

// check refuses to go on unless a new preview says the very same, but for what
// was made since, after a first check. All that differs is named.
func (file *planFile) check(ctx context.Context, t *target, preview *apply.Preview, made []object.ID) error {
	now, err := state.ClusterID(ctx, t.cluster)
	if err != nil {
		return err
	}
	if file.Cluster != "" && now != "" && now != file.Cluster {
		return fmt.Errorf("the plan was made for another cluster, at %s: nothing was applied", file.Server)
	}
	if err := preview.Err(); err != nil {
		return err
	}
	planned := map[planID]sealedResource{}
	for _, r := range file.Resources {
		planned[r.planID] = r
	}
	var moved []string
	for _, row := range preview.Rows {
		now := sealed(row, file.Salt)
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
		moved = append(moved, fmt.Sprintf("%s: planned %s, now %s", object.ID{Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}, was.Action, now))
	}
	if len(moved) == 0 {
		return nil
	}
	slices.Sort(moved)
	return fmt.Errorf("the cluster or the manifests are not what they were when the plan was made: nothing was applied, plan again\n%s", strings.Join(moved, "\n"))
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
