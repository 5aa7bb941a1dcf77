package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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

// installsNamed returns the streams or programs of a work that have a name, as test/firsttry
// knows them; all without names.
func installsNamed(work string, names []string) []string {
	var chosen []string
	for _, name := range tried(names) {
		switch program := strings.HasPrefix(name, programsName+"/"); {
		case program && work == "programs":
			chosen = append(chosen, name)
		case !program && work == "streams":
			chosen = append(chosen, streamsName+"/"+name)
		}
	}
	return chosen
}

// installs measures how long the streams or programs of a work take until everything is ready,
// and returns a part for each; of all if none are named.
func (l *lab) installs(work string, names []string, rounds int) ([]Part, error) {
	chosen := installsNamed(work, names)
	if len(chosen) == 0 {
		return nil, nil
	}
	if _, err := corpora.Dir(); err != nil && work == "streams" {
		l.log("the real streams are left out: %s", err)
		return nil, nil
	}
	var timed []struct {
		Stream  string
		Objects int
		Samples []Sample
	}
	err := l.firstTry(chosen, &timed, "-time", "-rounds", strconv.Itoa(rounds))
	var parts []Part
	for _, t := range timed {
		part := Part{Work: work, Name: strings.TrimPrefix(t.Stream, programsName+"/"), Objects: t.Objects}
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
