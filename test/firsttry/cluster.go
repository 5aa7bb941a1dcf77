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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/test/auditlog"
	"github.com/ordapply/ordapply/test/standin"
	"github.com/ordapply/ordapply/test/testcluster"
	"github.com/ordapply/ordapply/test/unkind"
)

// place is an empty control plane whose Pods are served by stand-ins.
type place struct {
	*testcluster.Cluster
	dir  string
	pods *standin.Pods
	ca   []byte // of the cluster, for a program; else nil
	stop func() // ends the work of operators
}

// open starts a control plane in its own folder.
func open(parent string) (*place, error) {
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
	cluster, err := testcluster.Up(bin, filepath.Join(dir, "cluster"), io.Discard, "--pod-proxy", socket)
	if err != nil {
		return nil, errors.Join(err, pods.Close())
	}
	return &place{Cluster: cluster, dir: dir, pods: pods, stop: func() {}}, nil
}

// operate lets stand-ins do the work of operators, until p is closed.
func (p *place) operate(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() {
		_ = p.pods.Operate(ctx, p.Kubeconfig)
		close(stopped)
	}()
	p.stop = func() {
		cancel()
		<-stopped
	}
}

// close stops the control plane and removes its files.
func (p *place) close() error {
	p.stop()
	return errors.Join(p.Down(), p.pods.Close(), os.RemoveAll(p.dir))
}

// createPrerequisites creates a stream's prerequisites in the cluster.
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
	if err := p.TryEstablished("crd", "--all"); err != nil {
		return fmt.Errorf("wait for the kinds that %s expects: %w", s.name, err)
	}
	return nil
}

// openFor starts a control plane with a stream's prerequisites. The Pods of a program do
// the work of their operators by their annotations.
func openFor(ctx context.Context, parent string, s stream) (*place, error) {
	p, err := open(parent)
	if err != nil {
		return nil, err
	}
	if s.program == nil {
		p.operate(ctx)
		err = p.createPrerequisites(s)
	} else {
		p.ca, err = unkind.Trust(p.Cluster, p.pods)
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// write writes objects to a file.
func (p *place) write(objects []*unstructured.Unstructured) (file string, err error) {
	file = filepath.Join(p.dir, "stream.yaml")
	return file, p.writeTo(file, objects)
}

// writeTo writes objects to the named file.
func (p *place) writeTo(file string, objects []*unstructured.Unstructured) error {
	manifests, err := p.manifests(objects)
	if err != nil {
		return err
	}
	return os.WriteFile(file, manifests, 0o644)
}

// manifests returns objects as a stream. A program's objects get the cluster's CA.
func (p *place) manifests(objects []*unstructured.Unstructured) ([]byte, error) {
	manifests, err := encode(contents(objects))
	if err != nil || p.ca == nil {
		return manifests, err
	}
	return unkind.WithCA(manifests, p.ca), nil
}

// outcome is the result of one command.
type outcome struct {
	code           int
	took           time.Duration
	stdout, stderr string
}

// ordapply applies a file as a user would, and logs its events on standard output.
func (p *place) ordapply(ctx context.Context, file string, more ...string) (outcome, error) {
	bin, err := testcluster.Find("ordapply")
	if err != nil {
		return outcome{}, errors.New("the ordapply command is missing: run make build")
	}
	return command(ctx, append([]string{bin, "apply", "-f", file, "--kubeconfig", p.Kubeconfig, "-o", "json"}, more...))
}

// command runs a command, with more variables in its environment.
func command(ctx context.Context, args []string, more ...string) (outcome, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), more...)
	cmd.WaitDelay = time.Second // if it is killed, and what it started has its output
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	got := outcome{took: time.Since(start), stdout: stdout.String(), stderr: stderr.String()}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		got.code = exit.ExitCode()
		return got, nil
	}
	return got, err
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

// checkExist returns an error if the cluster does not have all objects.
func (p *place) checkExist(objects []*unstructured.Unstructured, namespace string) error {
	file, err := p.write(objects)
	if err != nil {
		return err
	}
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
	if err != nil || found != len(objects) {
		return fmt.Errorf("%d of %d objects are on the cluster: %s", found, len(objects), lastLines(out, 3))
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
