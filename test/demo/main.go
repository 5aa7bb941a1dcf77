// Command demo demonstrates a whole run: it starts a real control plane, runs
// `kustomize build examples/shop | ordapply` on it, and proves from the API
// server's audit log and an independent watch that no gate was passed early.
//
//	go run ./test/demo                    # on a control plane of its own
//	go run ./test/demo -cluster=current   # on the cluster of your kubeconfig
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ordapply/ordapply/test/auditlog"
	"github.com/ordapply/ordapply/test/observer"
	"github.com/ordapply/ordapply/test/testcluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cluster := flag.String("cluster", "local", `"local": a control plane of its own; "current": that of your kubeconfig`)
	flag.Parse()
	var err error
	switch *cluster {
	case "local":
		err = onLocal(ctx)
	case "current":
		err = onCurrent(ctx)
	default:
		err = fmt.Errorf("-cluster=%s: write local or current", *cluster)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

// onLocal runs the demo on its own control plane, where Pods take half a second
// to two seconds to become ready.
func onLocal(ctx context.Context) error {
	bin, err := testcluster.Find("localcluster")
	if err != nil {
		return errors.New("the localcluster command is missing: run make localcluster")
	}
	dir, err := os.MkdirTemp("", "ordapply-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	say("starting a control plane: etcd, kube-apiserver, controller manager, scheduler, and kwok in place of kubelets")
	start := time.Now()
	cluster, err := testcluster.Up(bin, filepath.Join(dir, "cluster"), os.Stderr, "--ready-after", "500ms..2s")
	if err != nil {
		return err
	}
	defer func() { _ = cluster.Down() }()
	say("ready in %s", time.Since(start).Round(100*time.Millisecond))
	run, err := applyShop(ctx, cluster.Kubeconfig)
	if err != nil {
		return err
	}
	audit, err := auditlog.Read(cluster.AuditLog())
	if err != nil {
		return err
	}
	return run.prove(audit)
}

// onCurrent runs the demo on the cluster of the current kubeconfig and deletes the demo's
// objects. Without an audit log it only shows the waves.
func onCurrent(ctx context.Context) error {
	run, err := applyShop(ctx, "")
	if run != nil {
		defer run.remove()
	}
	if err != nil {
		return err
	}
	say("applied; the proof needs the API server's audit log, which only the local control plane shows")
	return nil
}

// run is one apply of the shop.
type run struct {
	kubeconfig string
	stream     []byte
	observer   *observer.Observer
}

// applyShop builds the shop with kustomize and pipes it into ordapply while a
// second watch observes.
func applyShop(ctx context.Context, kubeconfig string) (*run, error) {
	say("$ kustomize build --enable-alpha-plugins --enable-exec examples/shop | ordapply")
	stream, err := build(ctx)
	if err != nil {
		return nil, err
	}
	r := &run{kubeconfig: kubeconfig, stream: stream}
	if r.observer, err = observer.Start(ctx, kubeconfig); err != nil {
		return nil, err
	}
	defer r.observer.Stop()
	ordapply, err := testcluster.Find("ordapply")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, ordapply)
	cmd.Env = withKubeconfig(kubeconfig)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stream), nil, os.Stderr
	if err := cmd.Run(); err != nil {
		return r, fmt.Errorf("ordapply: %w", err)
	}
	return r, nil
}

func build(ctx context.Context) ([]byte, error) {
	kustomize, err := testcluster.Find("kustomize")
	if err != nil {
		return nil, errors.New("kustomize is missing: run make kustomize")
	}
	cmd := exec.CommandContext(ctx, kustomize, "build", "--enable-alpha-plugins", "--enable-exec", "examples/shop")
	cmd.Stderr = os.Stderr
	stream, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("kustomize build: %w", err)
	}
	return stream, nil
}

// remove deletes the objects of the demo.
func (r *run) remove() {
	say("removing the shop again")
	cmd := exec.Command("kubectl", "delete", "--ignore-not-found", "-f", "-")
	cmd.Env = withKubeconfig(r.kubeconfig)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(r.stream), os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		say("kubectl delete: %v; the namespace shop and the CRD campaigns.shop.example may be left", err)
	}
}

func withKubeconfig(path string) []string {
	env := os.Environ()
	if path != "" {
		env = append(env, "KUBECONFIG="+path)
	}
	return env
}
