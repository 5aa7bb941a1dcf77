package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/sortorder"
)

// filterFlags are the flags of the command without a verb.
type filterFlags struct {
	order                 string
	marks, check, explain bool
}

// filter sorts and stamps the stream on stdin, or checks its stamps.
func filter(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags, err := parseFilter(args)
	if err != nil {
		plain.Fprintf(stderr, "sortorder: %v\n\n", err)
		fmt.Fprint(stderr, usage)
		return 2
	}
	function, err := functionOf(flags.order)
	if err != nil {
		for line := range strings.Lines(err.Error()) { // one error a line
			plain.Fprintln(stderr, strings.TrimSuffix(line, "\n"))
		}
		return 1
	}
	in, err := io.ReadAll(stdin)
	if err != nil {
		plain.Fprintf(stderr, "sortorder: read stdin: %v\n", err)
		return 1
	}
	function.Marks = flags.marks
	work := function.Run
	if flags.check {
		work = function.Check
	}
	out := work(in)
	if flags.explain {
		fmt.Fprint(stderr, out.Explanation())
	}
	return write(out, stdout, stderr)
}

func parseFilter(args []string) (filterFlags, error) {
	var f filterFlags
	set := flag.NewFlagSet("sortorder", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&f.order, "order", "", "")
	set.BoolVar(&f.marks, "marks", false, "")
	set.BoolVar(&f.check, "check", false, "")
	set.BoolVar(&f.explain, "explain", false, "")
	if err := set.Parse(args); err != nil {
		return f, err
	}
	if set.NArg() > 0 {
		return f, fmt.Errorf("unexpected argument %q: the stream is read from stdin", set.Arg(0))
	}
	if f.marks && f.check {
		return f, fmt.Errorf("--check changes nothing, so it cannot be used with --marks")
	}
	return f, nil
}

// functionOf returns the function with the order in a file, or without an
// order.
func functionOf(file string) (fn.Processor, error) {
	if file == "" {
		return fn.Processor{}, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fn.Processor{}, fmt.Errorf("sortorder: read the order: %w", err)
	}
	order, err := sortorder.Parse(text)
	if err != nil {
		return fn.Processor{}, fmt.Errorf("sortorder: %s is not valid:\n%w", file, err)
	}
	return fn.Processor{Order: order}, nil
}

// strip removes all stamps from the stream on stdin.
func strip(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		plain.Fprintf(stderr, "sortorder strip: unexpected argument %q: the stream is read from stdin\n", args[0])
		return 2
	}
	in, err := io.ReadAll(stdin)
	if err != nil {
		plain.Fprintf(stderr, "sortorder: read stdin: %v\n", err)
		return 1
	}
	return write(fn.Strip(in), stdout, stderr)
}

// carry prints an order as the two passes of a kustomize build.
func carry(args []string, stdout, stderr io.Writer) int {
	if len(args) != 1 {
		plain.Fprintln(stderr, "sortorder carry: pass one file, the SortOrder")
		return 2
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		plain.Fprintf(stderr, "sortorder carry: read the order: %v\n", err)
		return 1
	}
	passes, err := fn.TwoPasses(text)
	if err != nil {
		plain.Message(stderr, "sortorder carry: "+args[0]+": ", err.Error())
		return 1
	}
	return printText(passes, stdout, stderr)
}
