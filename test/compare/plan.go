package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/test/bigstream"
)

// peersPlan is the number of resources up to which the peers' planners are measured: they
// take minutes for more.
const peersPlan = 10_000

// plan measures planning without a cluster. "plan" is the planner alone, in a process that
// has read the manifests; "command" is the whole command, which also reads YAML.
func (l *lab) plan(size, rounds int) (Part, error) {
	part := Part{Work: "plan", Size: size}
	if err := l.build("orderbench", ".", "./test/peers/orderbench"); err != nil {
		return part, err
	}
	if err := l.build("planners", "test/peers/ordering", "."); err != nil {
		return part, err
	}
	manifests, stream := filepath.Join(l.dir, "plan.json"), filepath.Join(l.dir, "plan.yaml")
	if err := writeApplications(manifests, stream, size); err != nil {
		return part, err
	}
	planners := []struct {
		peer    string
		command []string
	}{
		{plain, []string{"orderbench", "-only", manifests}},
		{"kapp", []string{"planners", "kapp", manifests}},
		{"kapply", []string{"planners", "cli-utils", manifests}},
	}
	if size > peersPlan {
		planners = planners[:1]
	}
	for round := range rounds {
		for _, p := range planners {
			if part.spent(p.peer, "plan") {
				continue
			}
			s, err := l.planner(p.command)
			if err != nil {
				return part, err
			}
			s.Peer, s.Phase, s.Round = p.peer, "plan", round
			part.Samples = append(part.Samples, s)
		}
		s, err := l.run([]string{"ordapply", "plan", "--dry-run=client", "-f", stream}, "")
		if err != nil {
			return part, err
		}
		s.Peer, s.Phase, s.Round = plain, "command", round
		part.Samples = append(part.Samples, s)
		l.log("planning %d resources, round %d of %d: %s", size, round+1, rounds, shown(part.Samples[len(part.Samples)-len(planners)-1:]))
	}
	return part, nil
}

// planner runs a program that prints the cost of its planning.
func (l *lab) planner(command []string) (Sample, error) {
	cmd := exec.Command(l.programs[command[0]], command[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return Sample{}, fmt.Errorf("%v: %w: %s", command, err, stderr.String())
	}
	var cost struct{ Wall, CPU, Peak float64 }
	err = json.Unmarshal(out, &cost)
	return Sample{Wall: cost.Wall, CPU: cost.CPU, Peak: cost.Peak}, err
}

// writeApplications writes the same manifests as a JSON list and as a stream of YAML.
func writeApplications(list, stream string, size int) error {
	all := bigstream.Applications(size)
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	var documents bytes.Buffer
	for _, manifest := range all {
		document, err := yaml.Marshal(manifest)
		if err != nil {
			return err
		}
		documents.WriteString("---\n")
		documents.Write(document)
	}
	return errors.Join(os.WriteFile(list, text, 0o644), os.WriteFile(stream, documents.Bytes(), 0o644))
}
