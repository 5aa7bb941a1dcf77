// Localcluster builds a real Kubernetes control plane from Go modules and runs it on this machine, with nothing
// installed but Go: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and kwok for the Nodes and Pods.
//
//	localcluster build                    # once: about 6 minutes on two cores, nothing the second time
//	localcluster up --dir ./c1            # ready in seconds
//	export KUBECONFIG=$(localcluster kubeconfig --dir ./c1)
//	localcluster down --dir ./c1          # no process and no file is left
//
// Everything a cluster is lives in its folder: certificates, data, logs, and one pid file a process. No command keeps
// any other state, so that `down` works after a crash of `up` at any moment.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole command; its result is the exit code. 1 means failed, or for status: something is down.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:           "localcluster",
		Short:         "A real Kubernetes control plane on this machine, built from Go modules",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(buildCommand(), upCommand(), downCommand(), statusCommand(), kubeconfigCommand(), kubectlCommand(),
		execCommand(),
		componentCommand(podLogs, "Serve the logs of the cluster's Pods to its kube-apiserver", (*cluster).servePodLogs),
		componentCommand(podPrograms, "Do what the programs in the cluster's Pods would do", (*cluster).runPodPrograms))
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	fmt.Fprintf(stderr, "localcluster: %v\n", err)
	return 1
}

// exitCode ends the command with that code and without a message.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }
