package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

// A cluster has the decisions of `up`. It is written to cluster.json in the folder before the first
// process starts, and is also the mark by which the other commands know that the folder is theirs.
type cluster struct {
	Dir        string         `json:"-"`   // absolute, without symbolic links: the processes' arguments hold it
	Bin        string         `json:"bin"` // the folder of the binaries
	Kubernetes string         `json:"kubernetes"`
	Light      bool           `json:"light"`
	Nodes      int            `json:"nodes"`
	ReadyAfter span           `json:"readyAfter"`
	PodProxy   string         `json:"podProxy,omitempty"` // the socket of the proxy that leads to Pods
	Ports      map[string]int `json:"ports"`
	Token      string         `json:"token"` // of the user localcluster
	Started    time.Time      `json:"started"`
}

const clusterFile = "cluster.json"

func (c *cluster) path(elem ...string) string {
	return filepath.Join(append([]string{c.Dir}, elem...)...)
}
func (c *cluster) kubeconfig() string { return c.path("kubeconfig") }
func (c *cluster) server() string     { return fmt.Sprintf("https://127.0.0.1:%d", c.Ports[portServer]) }

// save writes cluster.json, whole or not at all.
func (c *cluster) save() error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	draft := c.path(clusterFile + ".new")
	if err := os.WriteFile(draft, data, 0o600); err != nil {
		return err
	}
	return os.Rename(draft, c.path(clusterFile))
}

var (
	errNoCluster = errors.New("no cluster there")
	errForeign   = errors.New("the folder contains something else")
)

// openFolder reads the cluster in dir. The error is errNoCluster when dir is absent or empty, errForeign when it holds
// files but no cluster.
func openFolder(dir string) (*cluster, error) {
	abs, err := realPath(dir)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(abs, clusterFile))
	if errors.Is(err, os.ErrNotExist) {
		entries, err := os.ReadDir(abs)
		if len(entries) == 0 && (err == nil || errors.Is(err, os.ErrNotExist)) {
			return nil, fmt.Errorf("%s: %w", dir, errNoCluster)
		}
		return nil, fmt.Errorf("%s: %w (there is no %s)", dir, errForeign, clusterFile)
	}
	if err != nil {
		return nil, err
	}
	c := &cluster{Dir: abs}
	if len(data) == 0 { // claimed, and nothing decided yet
		return c, nil
	}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(abs, clusterFile), err)
	}
	return c, nil
}

// claimFolder makes dir the folder of a new cluster. Of several claims at once, one succeeds.
func claimFolder(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	abs, err := realPath(dir)
	if err != nil {
		return "", err
	}
	mark, err := os.OpenFile(filepath.Join(abs, clusterFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("claim %s: %w", dir, err)
	}
	return abs, mark.Close()
}

// emptyFolder removes all but the claim.
func emptyFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != clusterFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// realPath is dir, absolute and without symbolic links as far as it exists.
func realPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err == nil || abs == filepath.Dir(abs) {
		return real, err
	}
	parent, err := realPath(filepath.Dir(abs))
	return filepath.Join(parent, filepath.Base(abs)), err
}

// dirFlag declares --dir, the folder that every command about one cluster needs.
func dirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "dir", "", "the cluster's folder")
	_ = cmd.MarkFlagRequired("dir")
}
