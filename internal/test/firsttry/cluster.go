package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ordapply/ordapply/internal/test/auditlog"
	"github.com/ordapply/ordapply/internal/test/standin"
	"github.com/ordapply/ordapply/internal/test/testcluster"
)

// place is an empty control plane whose Pods are served by stand-ins.
type place struct {
	*testcluster.Cluster
	dir     string
	pods    *standin.Pods
	stop    context.CancelFunc
	stopped chan struct{}
}

// open starts a control plane in its own folder.
func open(ctx context.Context, parent string, flags ...string) (*place, error) {
	bin, err := testcluster.Find("localcluster")
	if err != nil {
		return nil, errors.New("the localcluster command is missing: run make localcluster")
	}
	dir, err := os.MkdirTemp(parent, "")
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "pods")
	pods, err := standin.Listen(socket)
	if err != nil {
		return nil, err
	}
	cluster, err := testcluster.Up(bin, filepath.Join(dir, "cluster"), io.Discard, append(flags, "--pod-proxy", socket, "--timeout", "5m")...)
	if err != nil {
		return nil, errors.Join(err, pods.Close())
	}
	ctx, stop := context.WithCancel(ctx)
	p := &place{Cluster: cluster, dir: dir, pods: pods, stop: stop, stopped: make(chan struct{})}
	go func() {
		_ = pods.Operate(ctx, cluster.Kubeconfig)
		close(p.stopped)
	}()
	return p, nil
}

// close stops the control plane and removes its files.
func (p *place) close() error {
	p.stop()
	<-p.stopped
	return errors.Join(p.Down(), p.pods.Close(), os.RemoveAll(p.dir))
}

// createPrerequisites creates what a stream expects in the cluster.
func (p *place) createPrerequisites(s stream) error {
	manifests, err := s.before()
	if err != nil || len(manifests) == 0 {
		return err
	}
	file := filepath.Join(p.dir, "before.yaml")
	if err := os.WriteFile(file, manifests, 0o644); err != nil {
		return err
	}
	if out, err := p.TryKubectl("apply", "-f", file); err != nil {
		return fmt.Errorf("create what %s expects: %w\n%s", s.name, err, out)
	}
	if len(s.finds) == 0 {
		return nil
	}
	if out, err := p.TryKubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"); err != nil {
		return fmt.Errorf("wait for the kinds that %s expects: %w\n%s", s.name, err, out)
	}
	return nil
}

// openFor starts a control plane that has what a stream expects.
func openFor(ctx context.Context, parent string, s stream) (*place, error) {
	p, err := open(ctx, parent)
	if err != nil {
		return nil, err
	}
	if err := p.createPrerequisites(s); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// outcome is the result of one command.
type outcome struct {
	code   int
	took   time.Duration
	output string
}

// ordapply applies a file as a user would.
func (p *place) ordapply(ctx context.Context, file string, more ...string) (outcome, error) {
	bin, err := testcluster.Find("ordapply")
	if err != nil {
		return outcome{}, errors.New("the ordapply command is missing: run make build")
	}
	return command(ctx, append([]string{bin, "apply", "-f", file, "--kubeconfig", p.Kubeconfig}, more...))
}

func command(ctx context.Context, args []string) (outcome, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	start := time.Now()
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		return outcome{exit.ExitCode(), time.Since(start), output.String()}, nil
	}
	return outcome{0, time.Since(start), output.String()}, err
}

// writes counts ordapply's writing requests. SelfSubjectAccessReviews and the
// like are POSTs that write nothing.
func (p *place) writes() (int, error) {
	log, err := auditlog.Read(p.AuditLog())
	if err != nil {
		return 0, err
	}
	count := 0
	for _, write := range log.Sent {
		if !strings.HasPrefix(write.Resource, "selfsubject") {
			count++
		}
	}
	return count, nil
}

// checkExists returns an error if the cluster does not have all objects of a file.
func (p *place) checkExists(file, namespace string, objects int) error {
	args := []string{"get", "-f", file, "-o", "name"}
	if namespace != "" {
		args = append(args, "-n", namespace)
	}
	out, err := p.TryKubectl(args...)
	found := 0
	for line := range strings.Lines(out) { // warnings are mixed into the output
		if !strings.Contains(line, " ") {
			found++
		}
	}
	if err != nil || found != objects {
		return fmt.Errorf("%d of %d objects are on the cluster: %s", found, objects, lastLines(out, 3))
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
