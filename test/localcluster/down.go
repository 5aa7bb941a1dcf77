package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
)

func downCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "down --dir DIR",
		Short: "Stop the cluster in DIR and remove all its files, whatever state it is in",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := openFolder(dir)
			if errors.Is(err, errNoCluster) || errors.Is(err, errForeign) {
				return downWithoutFolder(dir, err, cmd.OutOrStdout())
			}
			if err != nil {
				return err
			}
			return takeDown(c.Dir)
		},
	}
	dirFlag(cmd, &dir)
	return cmd
}

// downWithoutFolder stops a cluster whose folder was removed under it, in whole or in part. Files that stayed may be
// anyone's.
func downWithoutFolder(dir string, reason error, stdout io.Writer) error {
	abs, err := realPath(dir)
	if err != nil {
		return err
	}
	all, err := strays(abs)
	if err != nil {
		return err
	}
	if err := stopInOrder(abs, all); err != nil {
		return err
	}
	if errors.Is(reason, errForeign) {
		return fmt.Errorf("not removing %w", reason)
	}
	_ = os.Remove(dir) // when empty: `up` may have been killed before it claimed it
	fmt.Fprintf(stdout, "no cluster in %s\n", dir)
	return nil
}

// takeDown stops the processes for dir and removes it. It needs nothing of the cluster but its
// folder, and can be repeated after it was itself interrupted.
func takeDown(dir string) error {
	if err := shutDown(dir); err != nil {
		return err
	}
	if err := removeVolumes(filepath.Join(dir, auditLog)); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// shutDown stops the cluster's processes and lets no more start.
func shutDown(dir string) error {
	// From here on no component can start: see recordPid.
	err := os.Rename(filepath.Join(dir, runDir), filepath.Join(dir, stoppingDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	recorded, err := processes(dir)
	if err != nil {
		return err
	}
	others, err := strays(dir)
	if err != nil {
		return err
	}
	return stopInOrder(dir, append(recorded, others...)) // most of them twice
}

// stopInOrder stops clients before the server, the server before its storage, so that the audit log is complete.
func stopInOrder(dir string, all []process) error {
	layer := map[string]int{apiServer: 1, etcd: 2} // the rest: 0
	for n := range 3 {
		err := stop(dir, slices.DeleteFunc(slices.Clone(all), func(p process) bool { return layer[p.name] != n }))
		if err != nil {
			return err
		}
	}
	return nil
}
