package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/apply"
)

// externalDiffVariable names a program to compare with, and its arguments.
const externalDiffVariable = "KUBECTL_EXTERNAL_DIFF"

// runExternalDiff lets a program compare two folders, in which each resource is a
// file that only the user can read. It is called and judged as by kubectl: it
// exits with 1 when it finds a difference.
func runExternalDiff(cmd *cobra.Command, pairs []pair) (different bool, err error) {
	var folders []string
	defer func() {
		for _, folder := range folders {
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}()
	for _, side := range []struct {
		prefix string
		text   func(pair) string
	}{
		{"LIVE-", func(p pair) string { return p.live }},
		{"MERGED-", func(p pair) string { return p.merged }},
	} {
		folder, err := os.MkdirTemp("", side.prefix)
		if err != nil {
			return false, fmt.Errorf("make a folder to compare: %w", err)
		}
		folders = append(folders, folder)
		if err := writeSide(folder, pairs, side.text); err != nil {
			return false, err
		}
	}
	return compareFolders(cmd, folders)
}

// writeSide writes one file for each resource that has this side.
func writeSide(folder string, pairs []pair, text func(pair) string) error {
	for _, one := range pairs {
		if text(one) == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, one.name), []byte(text(one)), 0o600); err != nil {
			return fmt.Errorf("write a file to compare: %w", err)
		}
	}
	return nil
}

func compareFolders(cmd *cobra.Command, folders []string) (different bool, err error) {
	words := strings.Split(os.Getenv(externalDiffVariable), " ")
	plain := regexp.MustCompile(`^[a-zA-Z0-9-=]+$`) // kubectl passes no other arguments on
	arguments := slices.DeleteFunc(slices.Clone(words[1:]), func(word string) bool { return !plain.MatchString(word) })
	program := exec.CommandContext(cmd.Context(), words[0], append(folders, arguments...)...)
	program.Stdout, program.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	if file := fileOf(program.Stdout); file != nil {
		program.Stdout = file // its own, so that it sees whether that is a terminal
	}
	program.Cancel = func() error { return program.Process.Signal(os.Interrupt) }
	program.WaitDelay = 5 * time.Second // then it is killed
	err = program.Run()
	var exit *exec.ExitError
	switch {
	case cmd.Context().Err() != nil:
		return false, apply.ErrInterrupted
	case err == nil:
		return false, nil
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return true, nil
	}
	return false, fmt.Errorf("run %q of %s: %w", words[0], externalDiffVariable, err)
}
