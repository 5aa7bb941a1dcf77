package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// upOptions are the flags of `up`.
type upOptions struct {
	dir        string
	nodes      int
	light      bool
	wait       bool
	attached   bool
	readyAfter span
	podProxy   string
	timeout    time.Duration
	kubernetes string
}

func upCommand() *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "up --dir DIR",
		Short: "Start a cluster in DIR",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.attached {
				return upAttached(cmd.Context(), o, cmd.InOrStdin(), cmd.OutOrStdout())
			}
			begin := time.Now()
			c, _, err := up(cmd.Context(), o)
			if errors.Is(err, errRunning) {
				fmt.Fprintf(cmd.OutOrStdout(), "already running at %s: KUBECONFIG=%s\n", c.server(), c.kubeconfig())
				return nil
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s after %.1fs at %s: KUBECONFIG=%s\n", map[bool]string{true: "ready", false: "started"}[o.wait],
				time.Since(begin).Seconds(), c.server(), c.kubeconfig())
			return nil
		},
	}
	dirFlag(cmd, &o.dir)
	cmd.Flags().IntVar(&o.nodes, "nodes", 2, "how many Nodes")
	cmd.Flags().BoolVar(&o.light, "light", false, "only etcd and kube-apiserver: nothing but the API")
	cmd.Flags().BoolVar(&o.wait, "wait", true, "return when the cluster is ready, not as soon as it is started")
	cmd.Flags().BoolVar(&o.attached, "attached", false, "keep running, and take the cluster down when standard input ends or on SIGINT or SIGTERM")
	cmd.Flags().Var(&o.readyAfter, "ready-after", "give Pods without the annotation localcluster/ready-after a random delay, as 500ms..2s")
	cmd.Flags().StringVar(&o.podProxy, "pod-proxy", "", "let the API server reach Pods through the HTTP CONNECT proxy that listens on this Unix socket")
	releaseFlag(cmd, &o.kubernetes)
	cmd.Flags().DurationVar(&o.timeout, "timeout", time.Minute, "how long the cluster may take to become ready")
	return cmd
}

// errRunning: the folder holds a cluster whose components all run.
var errRunning = errors.New("already running")

// up starts a cluster and, with o.wait, waits until it is ready. A failed start leaves nothing behind.
func up(ctx context.Context, o upOptions) (*cluster, *watch, error) {
	if c, err := openFolder(o.dir); !errors.Is(err, errNoCluster) {
		return existing(o.dir, c, err)
	}
	proxy, err := o.proxy()
	if err != nil {
		return nil, nil, err
	}
	r, err := releaseNamed(o.kubernetes)
	if err != nil {
		return nil, nil, err
	}
	bin, err := builtBinaries(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	dir, err := claimFolder(o.dir)
	if err != nil {
		return nil, nil, err
	}
	for try := 1; ; try++ {
		c := &cluster{Dir: dir, Bin: bin, Kubernetes: r.version, Light: o.light, Nodes: o.nodes, ReadyAfter: o.readyAfter, PodProxy: proxy, Token: rand.Text(), Started: time.Now()}
		w := newWatch(c)
		err := w.launch(ctx, o)
		if err == nil {
			return c, w, nil
		}
		if !errors.Is(err, errPortTaken) || try == 5 {
			return nil, nil, errors.Join(err, takeDown(dir))
		}
		if err := errors.Join(shutDown(dir), emptyFolder(dir)); err != nil {
			return nil, nil, err
		}
	}
}

// proxy is the absolute path of the socket that leads to Pods; "" without one.
func (o upOptions) proxy() (string, error) {
	if o.podProxy == "" {
		return "", nil
	}
	return filepath.Abs(o.podProxy)
}

// existing answers for a folder that is not empty.
func existing(dir string, c *cluster, err error) (*cluster, *watch, error) {
	if err != nil {
		return nil, nil, fmt.Errorf("start in %w", err)
	}
	missing, err := c.missing()
	if err != nil {
		return nil, nil, err
	}
	if len(missing) == 0 {
		return c, nil, errRunning
	}
	return nil, nil, fmt.Errorf("%s contains a cluster whose %s is not running (or is just starting): run `localcluster down --dir %s` first",
		dir, strings.Join(missing, ", "), dir)
}

// launch writes the files and starts the components: storage, server, and when that answers, the rest together.
func (w *watch) launch(ctx context.Context, o upOptions) error {
	c := w.cluster
	if err := c.writeFiles(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	if err := w.start(ctx, c.storage(), c.api()); err != nil {
		return err
	}
	api, err := c.client()
	if err != nil {
		return err
	}
	if err := w.until(ctx, apiServer, func() string { return api.unready(ctx) }); err != nil {
		return err
	}
	if c.Light {
		return nil
	}
	if err := w.start(ctx, c.controllers()...); err != nil {
		return err
	}
	if err := c.createObjects(ctx, api); err != nil || !o.wait {
		return err
	}
	return w.until(ctx, controllerManager, func() string { return c.unready(ctx, api) })
}

// writeFiles fills the folder with the components' files.
func (c *cluster) writeFiles() error {
	for _, sub := range []string{"certs", "auth", "logs", "home", "tmp", runDir} {
		if err := os.MkdirAll(c.path(sub), 0o755); err != nil {
			return err
		}
	}
	var err error
	if c.Ports, err = choosePorts(portServer, portKwok, portPodLogs); err != nil {
		return err
	}
	stages, err := c.stages()
	if err != nil {
		return err
	}
	return errors.Join(
		writeCerts(c.path("certs")),
		c.writeAccess(),
		os.WriteFile(c.path("audit-policy.yaml"), []byte(auditPolicy), 0o644),
		os.WriteFile(c.path("stages.yaml"), stages, 0o644),
		os.WriteFile(c.path(egressFile), []byte(c.egress()), 0o644),
		c.save(),
	)
}

// upAttached runs the cluster until this process ends, or its standard input is closed.
func upAttached(ctx context.Context, o upOptions, stdin io.Reader, stdout io.Writer) error {
	// Out of the caller's process group: one that is killed as a group must not take its undertaker along. This
	// fails for a group's leader, a command typed into a shell, which is then left to Ctrl-C.
	_, _ = syscall.Setsid()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	c, w, err := up(ctx, o)
	if errors.Is(err, errRunning) {
		return fmt.Errorf("%s: a cluster is already running there, started by another command", o.dir)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "ready %s\n", c.kubeconfig())
	return errors.Join(w.stay(ctx), takeDown(c.Dir))
}
