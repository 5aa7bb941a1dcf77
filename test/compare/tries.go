package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ordapply/ordapply/test/corpora"
	"github.com/ordapply/ordapply/test/unkind"
)

// tries runs test/firsttry on a stream or program. Without the folder of the real streams it
// leaves these out, unless TRY names one.
func (l *lab) tries(name string, c choice) (Part, error) {
	full := name
	if !strings.HasPrefix(name, programsName+"/") {
		full = streamsName + "/" + name
		if _, err := corpora.Dir(); err != nil && len(c.tries) == 0 {
			l.log("%s is left out: %s", name, err)
			return Part{}, nil
		}
	}
	part := Part{Work: "tries", Name: name}
	flags := []string{"-shuffles", strconv.Itoa(c.shuffles), "-tries", strconv.Itoa(c.toolTries)}
	if c.tools != "" {
		flags = append(flags, "-tools", c.tools)
	}
	err := l.firstTry([]string{full}, &part.Tries, flags...)
	if err == nil && len(part.Tries) == 0 {
		err = fmt.Errorf("test/firsttry could not try %s: see above", name)
	}
	return part, err
}

// As in test/firsttry, these are the names of all programs and of all streams of the folder,
// and before a slash, of one of them.
const (
	programsName = "unkind"
	streamsName  = "streams"
)

// tried returns the streams and programs of test/firsttry that have a name; all without names.
func tried(names []string) []string {
	all := corpora.Applied()
	programs, _ := unkind.Programs() // which are embedded
	for _, p := range programs {
		all = append(all, programsName+"/"+p.Name)
	}
	return slices.DeleteFunc(all, func(of string) bool {
		return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return isCalled(of, name) })
	})
}

// isCalled reports whether a stream or program has a name.
func isCalled(of, name string) bool {
	program, found := strings.CutPrefix(of, programsName+"/")
	if !found {
		return name == of || name == streamsName || name == streamsName+"/"+of
	}
	return name == of || name == programsName || name == program
}

// streams measures how long real streams take until everything is ready, and returns a part
// for each; of all if none are named. Without their folder it returns none.
func (l *lab) streams(names []string, rounds int) ([]Part, error) {
	if _, err := corpora.Dir(); err != nil {
		l.log("the real streams are left out: %s", err)
		return nil, nil
	}
	var timed []struct {
		Stream  string
		Objects int
		Samples []Sample
	}
	err := l.firstTry(names, &timed, "-time", "-rounds", strconv.Itoa(rounds))
	var parts []Part
	for _, t := range timed {
		part := Part{Work: "streams", Name: t.Stream, Objects: t.Objects}
		for _, s := range t.Samples {
			s.Peer, s.Phase = plain, "ready"
			part.Samples = append(part.Samples, s)
		}
		parts = append(parts, part)
	}
	return parts, err
}

// firstTry runs test/firsttry, and reads the JSON that it writes: it does so also if a stream
// fails, which the table shows.
func (l *lab) firstTry(streams []string, into any, flags ...string) error {
	if err := l.build("firsttry", ".", "./test/firsttry"); err != nil {
		return err
	}
	record := filepath.Join(l.dir, "firsttry.json")
	if err := os.RemoveAll(record); err != nil { // of the streams before
		return err
	}
	cmd := exec.Command(l.programs["firsttry"], slices.Concat(flags, []string{"-json", record}, streams)...)
	cmd.Stdout, cmd.Stderr = l.progress, l.progress
	failed := cmd.Run()
	text, err := os.ReadFile(record)
	if err != nil {
		return errors.Join(failed, err)
	}
	return json.Unmarshal(text, into)
}

// programs runs the measurement of test/unkind in rounds, of all programs if none are named,
// and returns a part for each.
func programs(names []string, rounds int) ([]Part, error) {
	chosen, err := programsNamed(names)
	if err != nil || len(chosen) == 0 {
		return nil, err
	}
	cmd := exec.Command("go", "test", "./test/unkind", "-run", "^TestTime$/^("+strings.Join(chosen, "|")+")$", "-count="+strconv.Itoa(rounds), "-v", "-timeout", "4h")
	cmd.Env = append(os.Environ(), "ORDAPPLY_TIME=1")
	out, failed := cmd.CombinedOutput() // also if a time is over the test's limit
	parts, err := times(string(out))
	if err != nil || len(parts) == 0 {
		return nil, fmt.Errorf("measure test/unkind: %w\n%s", errors.Join(failed, err), out)
	}
	return parts, nil
}

// programsNamed returns the programs that have a name, as test/firsttry does: unkind/eck, eck,
// and unkind for all; without names it returns all.
func programsNamed(names []string) ([]string, error) {
	programs, err := unkind.Programs()
	var chosen []string
	for _, p := range programs {
		if len(names) == 0 || slices.ContainsFunc([]string{"unkind", "unkind/" + p.Name, p.Name}, func(name string) bool { return slices.Contains(names, name) }) {
			chosen = append(chosen, p.Name)
		}
	}
	return chosen, err
}

// times reads the times that TestTime of test/unkind logs: a part for each program, a round
// for each time.
func times(output string) ([]Part, error) {
	name := ""
	var parts []Part
	line := regexp.MustCompile(`by itself (\S+), ordapply (\S+)`)
	for text := range strings.Lines(output) {
		if words := strings.Fields(text); len(words) == 3 && words[0] == "===" {
			_, name, _ = strings.Cut(words[2], "/")
		}
		if found := line.FindStringSubmatch(text); found != nil {
			own, err := time.ParseDuration(found[1])
			took, also := time.ParseDuration(found[2])
			if err := errors.Join(err, also); err != nil {
				return nil, err
			}
			parts = withSample(parts, Part{Work: "programs", Name: name}, Sample{Peer: plain, Phase: "ready", Wall: took.Seconds(), Alone: own.Seconds()})
		}
	}
	return parts, nil
}

// withSample adds a sample to the part of the same work, which may be new. Its round is the
// number of samples that the part has of this peer and phase.
func withSample(parts []Part, of Part, s Sample) []Part {
	at := slices.IndexFunc(parts, of.same)
	if at < 0 {
		parts, at = append(parts, of), len(parts)
	}
	for _, other := range parts[at].Samples {
		if other.Peer == s.Peer && other.Phase == s.Phase {
			s.Round++
		}
	}
	parts[at].Samples = append(parts[at].Samples, s)
	return parts
}
