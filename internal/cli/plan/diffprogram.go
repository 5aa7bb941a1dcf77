package plan

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/files"
)

// externalDiffVariable is the environment variable with an external diff
// program and its arguments.
const externalDiffVariable = "KUBECTL_EXTERNAL_DIFF"

// runExternalDiff runs the program on two folders with one file for each
// resource, readable by the user only. It calls the program as kubectl does;
// exit code 1 means that there are differences.
func runExternalDiff(ctx context.Context, c *console.Console, pairs []diffPair) (different bool, err error) {
	var folders []string
	defer func() {
		for _, folder := range folders {
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}()
	for _, side := range []struct {
		prefix string
		text   func(diffPair) string
	}{
		{"LIVE-", func(p diffPair) string { return p.live }},
		{"MERGED-", func(p diffPair) string { return p.merged }},
	} {
		folder, err := os.MkdirTemp("", side.prefix)
		if err != nil {
			return false, fmt.Errorf("create a folder for the comparison: %w", err)
		}
		folders = append(folders, folder)
		if err := writeSide(folder, pairs, side.text); err != nil {
			return false, err
		}
	}
	return compareFolders(ctx, c, folders)
}

// writeSide writes one file for each resource that exists on this side.
func writeSide(folder string, pairs []diffPair, text func(diffPair) string) error {
	for _, one := range pairs {
		if text(one) == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, one.name), []byte(text(one)), 0o600); err != nil {
			return fmt.Errorf("write a file for the comparison: %w", err)
		}
	}
	return nil
}

func compareFolders(ctx context.Context, c *console.Console, folders []string) (different bool, err error) {
	words := strings.Split(os.Getenv(externalDiffVariable), " ")
	plain := regexp.MustCompile(`^[a-zA-Z0-9-=]+$`) // kubectl passes no other arguments
	arguments := slices.DeleteFunc(slices.Clone(words[1:]), func(word string) bool { return !plain.MatchString(word) })
	program := exec.CommandContext(ctx, words[0], append(folders, arguments...)...)
	program.Stdout, program.Stderr = c.Out, c.Err
	if file := files.FileOf(program.Stdout); file != nil {
		program.Stdout = file // the file itself, so that the program can detect a terminal
	}
	program.Cancel = func() error { return program.Process.Signal(os.Interrupt) }
	program.WaitDelay = 5 * time.Second // then it is killed
	err = program.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return false, event.ErrInterrupted
	case err == nil:
		return false, nil
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return true, nil
	}
	return false, fmt.Errorf("run %q of %s: %w", words[0], externalDiffVariable, err)
}
