// Command firsttry applies real streams, and the installs of programs whose Pods wait for
// other objects, unmodified and shuffled, each to its own empty control plane, and prints
// the results of the first try, of ordapply and of other tools.
//
//	go run ./test/firsttry                                  # all streams of the table in streams.go, and all programs
//	go run ./test/firsttry -shuffles 1 -kubectl=false flux  # one of them
//	go run ./test/firsttry -tools kapp,helm -tries 3 flux   # the other tools that are tried, and in how many orders
//	go run ./test/firsttry unkind                           # the programs; unkind/dapr, or dapr, is one of them
//	go run ./test/firsttry streams/gatekeeper               # a stream without the program of that name
//	go run ./test/firsttry -time flux                       # measures a real stream, or a program, until everything is ready
//
// ORDAPPLY_CORPORA names the folder of the streams; the programs are in test/unkind.
// Objects are left out of a stream only as streams.go says, with the reason. Webhooks are
// kept, and real servers stand in for their Pods: see test/standin. The Pods of a program
// must all be ready in the end.
//
// The other tools apply the same objects in the same orders, each time to its own empty
// control plane. A tool succeeds if it ends with exit code 0, all objects are there, and all
// Pods of a program are ready within three minutes after it was started. kubectl is also
// repeated, with the stream as it stands.
//
// With -time it measures ordapply beside what any program needs at least that keeps the
// order: the longest chain of the objects' own times, along the edges of ordapply's plan, and the
// time of kubectl until it is accepted and everything is ready.
//
// GRACE is the time in which a run waited only for objects that were then assumed to be
// ready, because no status said so.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/ordapply/ordapply/test/corpora"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	klog.SetLogger(logr.Discard()) // client-go logs each watch and list that ends with a cluster
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole command. It returns the exit code: 1 if a stream had an
// unexpected result, 2 for an invalid command line.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("firsttry", flag.ContinueOnError)
	flags.SetOutput(stderr)
	shuffles := flags.Int("shuffles", 10, "how often each stream is shuffled, beside as it stands")
	kubectl := flags.Bool("kubectl", true, "also apply each stream as it stands with kubectl until it succeeds")
	tools := flags.String("tools", "kubectl,kapp,kapply,helm", "also try these tools once in each order, if they are built")
	tries := flags.Int("tries", 0, "in how many orders each tool is tried; 0: in those of ordapply")
	record := flags.String("json", "", "also write the table to this file, as JSON, after each stream")
	measure := flags.Bool("time", false, "measure instead: until everything is ready, beside what that takes at least")
	rounds := flags.Int("rounds", 3, "with -time: how often")
	if flags.Parse(args) != nil {
		return 2
	}
	chosen, err := choose(flags.Args())
	folder := ""
	if slices.ContainsFunc(chosen, func(s stream) bool { return s.program == nil }) {
		var missing error
		folder, missing = corpora.Dir()
		err = errors.Join(err, missing)
	}
	others, missing, unknown := toolsNamed(*tools)
	if err := errors.Join(err, unknown); err != nil {
		fmt.Fprintln(stderr, "firsttry:", err)
		return 2
	}
	if len(missing) > 0 && !*measure {
		fmt.Fprintf(stderr, "firsttry: not built, and left out: %s; make emit-peers helm-referee builds them\n", strings.Join(missing, ", "))
	}
	dir, err := os.MkdirTemp("", "first-try-")
	if err != nil {
		fmt.Fprintln(stderr, "firsttry:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	trial := &trial{
		folder: folder, dir: dir, shuffles: *shuffles, kubectl: *kubectl, tools: others, tries: *tries, patience: toolPatience,
		record: *record, progress: stderr,
	}
	if *measure {
		err = trial.measure(ctx, chosen, *rounds, *record, stdout)
	} else {
		err = trial.try(ctx, chosen, stdout)
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "firsttry: interrupted")
		return 1
	case err != nil:
		fmt.Fprintln(stderr, "firsttry: not every try went as it can: see above")
		return 1
	}
	return 0
}

// try tries streams, and prints their table.
func (t *trial) try(ctx context.Context, chosen []stream, stdout io.Writer) error {
	rows, err := t.all(ctx, chosen)
	printTable(stdout, rows)
	return err
}

// measure measures streams and programs, and prints and records their times.
func (t *trial) measure(ctx context.Context, chosen []stream, rounds int, record string, stdout io.Writer) error {
	all, err := t.times(ctx, chosen, rounds)
	printTimes(stdout, all)
	if record != "" {
		err = errors.Join(err, writeTimes(record, all))
	}
	return err
}

// choose returns the streams with these names, or all.
func choose(names []string) ([]stream, error) {
	known, err := all()
	var chosen []stream
	for _, s := range known {
		if len(names) == 0 || slices.ContainsFunc(names, s.is) {
			chosen = append(chosen, s)
		}
	}
	errs := []error{err}
	for _, name := range names {
		if !slices.ContainsFunc(chosen, func(s stream) bool { return s.is(name) }) {
			errs = append(errs, fmt.Errorf("no stream is called %q", name))
		}
	}
	return chosen, errors.Join(errs...)
}
