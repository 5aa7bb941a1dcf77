package main

import "fmt"

// move measures how objects that were applied without a set become members of one.
func (l *lab) move(size, rounds int) (Part, error) {
	part := Part{Work: "move", Size: size}
	without, with := choosePeers(plain)[0], choosePeers(set)[0]
	for round := range rounds {
		if err := l.up("--light"); err != nil {
			return part, err
		}
		t, err := l.target(0)
		if err != nil {
			return part, err
		}
		defer remove(t)
		if err := stream(without, t, size, false); err != nil {
			return part, err
		}
		for _, step := range []struct {
			phase   string
			command []string
		}{{"", without.apply(t)}, {"move", with.apply(t)}, {"", with.delete(t)}} {
			s, err := l.run(step.command, "")
			if err != nil {
				return part, err
			}
			if s.Failed != "" {
				return part, fmt.Errorf("%v: %s", step.command, s.Failed)
			}
			if s.Peer, s.Phase, s.Round = set, step.phase, round; step.phase != "" {
				part.Samples = append(part.Samples, s)
			}
		}
		l.log("%d objects move into a set, round %d of %d", size, round+1, rounds)
	}
	return part, nil
}
