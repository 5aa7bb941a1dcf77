package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// peer is the result of kubectl with the same stream on the same kind of
// cluster.
type peer struct {
	refused int // objects that it did not apply in one run
	rounds  int // runs until it succeeded; 0 if it never did
}

const (
	// kubectlRounds and kubectlPause emulate `until kubectl apply; do sleep 5;
	// done` for about two minutes.
	kubectlRounds = 20
	kubectlPause  = 5 * time.Second
)

func (t *trial) withKubectl(ctx context.Context, s stream, file string, objects int) (found *peer, err error) {
	p, err := openFor(ctx, t.dir, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	found = &peer{}
	for round := 1; round <= kubectlRounds; round++ {
		got, err := command(ctx, p.KubectlCommand(append([]string{"apply", "--server-side", "-f", file}, s.flags()...)...))
		if err != nil {
			return nil, err
		}
		applied := strings.Count(got.output, " serverside-applied\n")
		fmt.Fprintf(t.progress, "%s, kubectl, round %d: exit code %d, %d of %d applied\n", s.name, round, got.code, applied, objects)
		if round == 1 {
			found.refused = objects - applied
		}
		if got.code == 0 {
			found.rounds = round
			break
		}
		time.Sleep(kubectlPause)
	}
	return found, nil
}
