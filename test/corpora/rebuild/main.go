// Command rebuild renders the real streams of the tests from their repositories, and compares
// them with the checksums of the list.
//
//	go run ./test/corpora/rebuild                               # all streams, into corpora/
//	go run ./test/corpora/rebuild -into /srv/corpora flux dapr  # some of them
//
// For each stream it prints the result: same, different (with the first differing line, if
// ORDAPPLY_CORPORA names a folder with the expected stream), or the step that failed. A stream of
// the folder that has its checksum is not rendered again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/ordapply/ordapply/test/corpora"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole command. It returns the exit code: 1 if a stream is not what it should be, 2
// for an invalid command line or list.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("rebuild", flag.ContinueOnError)
	flags.SetOutput(stderr)
	list := flags.String("list", filepath.Join("test", "corpora", "sources.yaml"), "the list of the streams")
	into := flags.String("into", "corpora", "the folder to write the streams into")
	if flags.Parse(args) != nil {
		return 2
	}
	streams, err := read(*list)
	if err == nil {
		streams, err = choose(streams, flags.Args())
	}
	if err != nil {
		fmt.Fprintln(stderr, "rebuild:", err)
		return 2
	}
	code := 0
	for _, s := range streams {
		result := "same"
		if err := rebuild(ctx, s, *into); err != nil {
			result, code = err.Error(), 1
		}
		if ctx.Err() != nil {
			fmt.Fprintln(stderr, "rebuild: interrupted")
			return 1
		}
		fmt.Fprintf(stdout, "%-28s %s\n", s.Name, result)
	}
	return code
}

// choose returns the streams with these names, with or without their folder; all without names.
func choose(streams []stream, names []string) ([]stream, error) {
	if len(names) == 0 {
		return streams, nil
	}
	var chosen []stream
	for _, name := range names {
		i := slices.IndexFunc(streams, func(s stream) bool { return name == s.Name || name == path.Base(s.Name) })
		if i < 0 {
			return nil, fmt.Errorf("no stream has the name %s", name)
		}
		chosen = append(chosen, streams[i])
	}
	return chosen, nil
}

// rebuild renders a stream into its file below a folder, unless the file is right already. The
// error says how the result differs, or which step failed.
func rebuild(ctx context.Context, s stream, folder string) error {
	file := s.file(folder)
	if present, err := os.ReadFile(file); err == nil && s.matches(present) {
		return nil
	}
	rendered, err := s.render(ctx)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, append(s.header(), rendered...), 0o644); err != nil {
		return err
	}
	if s.matches(rendered) {
		return nil
	}
	return fmt.Errorf("different: %s", s.difference(rendered))
}

// difference describes how a rendered stream differs from the expected one, by the first
// differing line if the expected one is at hand.
func (s stream) difference(rendered []byte) string {
	if folder, err := corpora.Dir(); err == nil {
		if expected, err := os.ReadFile(s.file(folder)); err == nil && s.matches(expected) {
			return firstDifference(documents(rendered), documents(expected))
		}
	} else if !errors.Is(err, corpora.ErrUnset) {
		return err.Error()
	}
	return fmt.Sprintf("the documents have the checksum %s, not %s", checksum(rendered), s.SHA256)
}
