package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

func statusCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "status --dir DIR",
		Short: "Print one line per component; exit code 1 when one is not running or the server is not ready",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := openFolder(dir)
			if err != nil {
				return err
			}
			return c.status(cmd.Context(), cmd.OutOrStdout())
		},
	}
	dirFlag(cmd, &dir)
	return cmd
}

func (c *cluster) status(ctx context.Context, stdout io.Writer) error {
	pids, err := c.running()
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	good := true
	for _, name := range c.names() {
		if pid, ok := pids[name]; ok {
			fmt.Fprintf(out, "%s\t%d\trunning\n", name, pid)
			continue
		}
		good = false
		fmt.Fprintf(out, "%s\t-\tnot running, see %s\n", name, c.logFile(name))
	}
	server := "ready"
	if api, err := c.client(); err != nil {
		server = err.Error()
	} else if missing := api.unready(ctx); missing != "" {
		server = missing
	}
	fmt.Fprintf(out, "%s\t-\t%s\n", c.server(), server)
	fmt.Fprintf(out, "age %s\n", time.Since(c.Started).Round(time.Second))
	if err := out.Flush(); err != nil {
		return err
	}
	if !good || server != "ready" {
		return exitCode(1)
	}
	return nil
}

// running gives the pid of every component that runs.
func (c *cluster) running() (map[string]int, error) {
	all, err := processes(c.Dir)
	if err != nil {
		return nil, err
	}
	pids := map[string]int{}
	for _, p := range all {
		if p.runs(c.Dir) {
			pids[p.name] = p.pid
		}
	}
	return pids, nil
}

// missing lists the components that should run and do not.
func (c *cluster) missing() ([]string, error) {
	pids, err := c.running()
	return slices.DeleteFunc(c.names(), func(name string) bool { return pids[name] != 0 }), err
}

// unready is empty when the server says it is ready to serve.
func (c *client) unready(ctx context.Context) string {
	if err := c.do(ctx, http.MethodGet, "/readyz", nil, nil); err != nil {
		return err.Error()
	}
	return ""
}
