package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/test/unkind"
)

// peer is the result of kubectl with the same stream on the same kind of
// cluster.
type peer struct {
	refused int  // objects that it did not apply in one run
	rounds  int  // runs until it succeeded; 0 if it never did
	unready bool // its Pods were not ready in the end, though they wait for other objects
}

const (
	// kubectlRounds and kubectlPause emulate `until kubectl apply; do sleep 5;
	// done` for about two minutes.
	kubectlRounds = 20
	kubectlPause  = 5 * time.Second
	// kubectlReady is how long the Pods of a program may take after that.
	kubectlReady = 2 * time.Minute
)

func (t *trial) withKubectl(ctx context.Context, s stream, objects []*unstructured.Unstructured) (found *peer, err error) {
	p, err := openFor(ctx, t.dir, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	file, err := p.write(objects)
	if err != nil {
		return nil, err
	}
	found = &peer{}
	for round := 1; round <= kubectlRounds; round++ {
		got, err := command(ctx, p.KubectlCommand(append([]string{"apply", "--server-side", "-f", file}, s.flags()...)...))
		if err != nil {
			return nil, err
		}
		applied := strings.Count(got.stdout, " serverside-applied\n")
		fmt.Fprintf(t.progress, "%s, kubectl, round %d: exit code %d, %d of %d applied\n", s.name, round, got.code, applied, len(objects))
		if round == 1 {
			found.refused = len(objects) - applied
		}
		if got.code == 0 {
			found.rounds = round
			break
		}
		time.Sleep(kubectlPause)
	}
	limited, cancel := context.WithTimeout(ctx, kubectlReady)
	defer cancel()
	found.unready = s.program != nil && !p.becomesReady(limited)
	return found, nil
}

// becomesReady reports whether all Pods become ready before ctx ends.
func (p *place) becomesReady(ctx context.Context) bool {
	for !unkind.PodsAreReady(p.Cluster) {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(time.Second):
		}
	}
	return true
}
