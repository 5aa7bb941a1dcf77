// Command build builds the engines that the tests of this module run, into a cache. With
// -check it builds nothing, and exits with 1 if one is missing.
//
//	go -C engines run ./build
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/ordapply/ordapply/test/engines/binaries"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

func run(ctx context.Context, args []string, out io.Writer) int {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	flags.SetOutput(out)
	check := flags.Bool("check", false, "build nothing; exit with 1 if an engine is not built")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	code := 0
	for _, engine := range []binaries.Engine{binaries.Flux(), binaries.ArgoCD()} {
		if err := provide(ctx, engine, *check, out); err != nil {
			fmt.Fprintf(out, "%s: %v\n", engine.Name, err)
			code = 1
		}
	}
	return code
}

// provide builds an engine, or only checks that it is built.
func provide(ctx context.Context, engine binaries.Engine, check bool, out io.Writer) error {
	if !check {
		return engine.Build(ctx, engine.Name, out)
	}
	dir, err := engine.Dir(engine.Name)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("not built: %s is missing", dir)
	}
	return nil
}
