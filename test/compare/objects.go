package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// work is a number of objects, applied from a distance.
type work struct {
	size   int
	delay  time.Duration
	rounds int
	peers  []peer
}

// objects measures the first apply of ConfigMaps, the same again, after the change of one,
// and their deletion. Each peer has a namespace of its own in each round.
func (l *lab) objects(w work) (Part, error) {
	part := Part{Work: "objects", Size: w.size, Delay: w.delay}
	for round := range w.rounds {
		for _, p := range order(w.peers, round) {
			var phases []string
			for _, phase := range []string{"first", "no-op", "change", "delete"} {
				if part.spent(p.name, phase) {
					break
				}
				phases = append(phases, phase)
			}
			samples, err := l.life(w, p, round, phases)
			if err != nil {
				return part, fmt.Errorf("%s: %w", p.name, err)
			}
			part.Samples = append(part.Samples, samples...)
			l.log("%d objects, %s added, round %d of %d, %s: %s", w.size, w.delay, round+1, w.rounds, p.name, shown(samples))
		}
	}
	return part, nil
}

// order returns the peers in the order of a round: every second time reversed, so that those
// whose ratio matters, which are neighbours, are measured close to each other.
func order(peers []peer, round int) []peer {
	peers = slices.Clone(peers)
	if round%2 == 1 {
		slices.Reverse(peers)
	}
	return peers
}

// spent reports whether a command has failed, or taken enough time. The floor and
// ordapply are measured in all rounds, because limits are about their ratio.
func (p Part) spent(peer, phase string) bool {
	sum := 0.0
	for _, s := range p.Samples {
		if s.Peer == peer && s.Phase == phase {
			if sum += s.Wall; s.Failed != "" {
				return true
			}
		}
	}
	return sum > enough.Seconds() && !isFloor(peer) && !strings.HasPrefix(peer, plain)
}

func shown(samples []Sample) string {
	var texts []string
	for _, s := range samples {
		text := fmt.Sprintf("%s %.2f s", s.Phase, s.Wall)
		if s.Failed != "" {
			text = s.Phase + " failed: " + s.Failed
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// life measures phases of the life of one peer's objects on a control plane that the peer has used
// before. It ends with a failed phase.
func (l *lab) life(w work, p peer, round int, phases []string) ([]Sample, error) {
	if len(phases) == 0 {
		return nil, nil
	}
	if failed, err := l.warmUp(w, p); err != nil || failed != "" {
		return []Sample{{Peer: p.name, Phase: phases[0], Round: round, Failed: failed}}, err
	}
	t, err := l.target(w.delay)
	if err != nil {
		return nil, err
	}
	defer remove(t)
	var samples []Sample
	for _, phase := range phases {
		command := p.apply(t)
		if phase == "delete" {
			command = p.delete(t)
		}
		if phase == "first" || phase == "change" {
			if err := stream(p, t, w.size, phase == "change"); err != nil {
				return nil, err
			}
		}
		s, err := l.run(command, "")
		if err != nil {
			return nil, err
		}
		s.Peer, s.Phase, s.Round = p.name, phase, round
		if samples = append(samples, s); s.Failed != "" {
			break
		}
	}
	return samples, nil
}

// warmUp runs a peer on ten objects once on each control plane, so that its caches of it
// are filled. It returns the peer's error, if it fails with them.
func (l *lab) warmUp(w work, p peer) (failed string, err error) {
	if err := l.up("--light"); err != nil {
		return "", err
	}
	key := fmt.Sprint(p.name, w.delay)
	if l.warm[key] {
		return "", nil
	}
	l.warm[key] = true
	samples, err := l.life(work{size: 10, delay: w.delay}, p, 0, []string{"first", "no-op", "delete"})
	if err != nil {
		return "", err
	}
	return samples[len(samples)-1].Failed, nil
}

// stream writes the stream, and what else the peer needs.
func stream(p peer, t target, size int, changed bool) error {
	if err := configMaps(t.File(), t.Namespace, size, changed); err != nil || p.prepare == nil {
		return err
	}
	return p.prepare(t)
}

// configMaps writes ConfigMaps, the first one with another text if it is changed.
func configMaps(file, namespace string, size int, changed bool) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	for i := range size {
		text := strings.Repeat("x", 200)
		if changed && i == 0 {
			text = "changed"
		}
		fmt.Fprintf(out, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, namespace: %s}\ndata: {text: %q}\n---\n", i, namespace, text)
	}
	return errors.Join(out.Flush(), f.Close())
}
