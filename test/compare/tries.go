package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ordapply/ordapply/test/corpora"
)

// tries runs test/firsttry on streams and programs; on all if none are named, but without the
// real streams if their folder is not.
func (l *lab) tries(shuffles int, streams []string) (Part, error) {
	part := Part{Work: "tries"}
	if err := l.build("firsttry", ".", "./test/firsttry"); err != nil {
		return part, err
	}
	record := filepath.Join(l.dir, "tries.json")
	if _, err := corpora.Dir(); err != nil && len(streams) == 0 {
		l.log("the real streams are left out: %s", err)
		streams = []string{"unkind"}
	}
	cmd := exec.Command(l.programs["firsttry"], append([]string{"-shuffles", strconv.Itoa(shuffles), "-json", record}, streams...)...)
	cmd.Stdout, cmd.Stderr = l.progress, l.progress
	failed := cmd.Run() // also if a stream fails, which the table shows
	text, err := os.ReadFile(record)
	if err != nil {
		return part, errors.Join(failed, err)
	}
	return part, json.Unmarshal(text, &part.Tries)
}

// programs runs the measurement of test/unkind, of all programs if none are named.
func programs(names []string) (Part, error) {
	part := Part{Work: "programs"}
	cmd := exec.Command("go", "test", "./test/unkind", "-run", "^TestTime$/"+strings.Join(names, "|"), "-count=1", "-v", "-timeout", "2h")
	cmd.Env = append(os.Environ(), "ORDAPPLY_TIME=1")
	out, failed := cmd.CombinedOutput() // also if a time is over the test's limit
	var err error
	if part.Samples, err = times(string(out)); err != nil || len(part.Samples) == 0 {
		return part, fmt.Errorf("measure test/unkind: %w\n%s", errors.Join(failed, err), out)
	}
	return part, nil
}

// times reads the times that TestTime of test/unkind logs.
func times(output string) ([]Sample, error) {
	name := ""
	var samples []Sample
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
			samples = append(samples, Sample{Peer: plain, Phase: name, Wall: took.Seconds(), Critical: own.Seconds()})
		}
	}
	return samples, nil
}
