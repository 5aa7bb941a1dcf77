package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ordapply/ordapply/test/testcluster"
)

// atATime is how many clusters of a fleet of any size run at the same time.
const atATime = 20

// fleet measures the cost of a fleet of 25, 50, 100 and 200 clusters for the applying
// process. The clusters are namespaces of one control plane, each a context of one
// kubeconfig with its own user and cluster, so that each run has its own client and
// connection.
func fleet(b *bench) error {
	cluster, err := b.cluster("cluster", "--light")
	if err != nil {
		return err
	}
	const most = 200
	kubeconfig, err := b.contexts(cluster, most)
	if err != nil {
		return err
	}
	stream, err := b.file("stream.yaml", strings.ReplaceAll(configMaps(20, "NS"), ", namespace: NS", ""))
	if err != nil {
		return err
	}
	if _, _, err := b.fleetRun(kubeconfig, stream, 5, "warmup"); err != nil {
		return err
	}
	fmt.Printf("20 ConfigMaps on each of N clusters in an apply set, %d at a time; to linear: of the first row, by cluster\n", atATime)
	var first [2]float64 // seconds and MiB by cluster
	for _, n := range []int{25, 50, 100, most} {
		took, peak, err := b.fleetRun(kubeconfig, stream, n, fmt.Sprint("n", n))
		if err != nil {
			return err
		}
		seconds, memory := took.Seconds()/float64(n), float64(peak)/float64(n)
		if first[0] == 0 {
			first = [2]float64{seconds, memory}
		}
		fmt.Printf("%3d clusters: %6.2f s (%.2f to linear), peak memory %4d MiB (%.2f to linear): %s\n",
			n, took.Seconds(), seconds/first[0], peak, memory/first[1], verdict(seconds/first[0] <= 1.5 && memory/first[1] <= 1.2))
	}
	return nil
}

// contexts creates namespaces, and returns a kubeconfig with a context for each.
func (b *bench) contexts(cluster *testcluster.Cluster, n int) (string, error) {
	read := func(path string) (string, error) {
		return cluster.TryKubectl("--kubeconfig", cluster.Kubeconfig, "config", "view", "--raw", "-o", "jsonpath={"+path+"}")
	}
	var values []string
	for _, path := range []string{".clusters[0].cluster.server", ".clusters[0].cluster.certificate-authority-data", ".users[0].user.token"} {
		value, err := read(path)
		if err != nil {
			return "", fmt.Errorf("%s: %w", value, err)
		}
		values = append(values, strings.TrimSpace(value))
	}
	var namespaces, clusters, users, contexts strings.Builder
	for i := range n {
		fmt.Fprintf(&namespaces, "apiVersion: v1\nkind: Namespace\nmetadata: {name: fleet-%d}\n---\n", i)
		fmt.Fprintf(&clusters, "- {name: c%d, cluster: {server: %q, certificate-authority-data: %q}}\n", i, values[0], values[1])
		fmt.Fprintf(&users, "- {name: u%d, user: {token: %q}}\n", i, values[2])
		fmt.Fprintf(&contexts, "- {name: x%d, context: {cluster: c%d, user: u%d, namespace: fleet-%d}}\n", i, i, i, i)
	}
	file, err := b.file("namespaces.yaml", namespaces.String())
	if err != nil {
		return "", err
	}
	if out, err := cluster.TryKubectl("apply", "-f", file); err != nil {
		return "", fmt.Errorf("%s: %w", out, err)
	}
	return b.file("kubeconfig", "apiVersion: v1\nkind: Config\nclusters:\n"+clusters.String()+"users:\n"+users.String()+"contexts:\n"+contexts.String())
}

// fleetRun applies a stream to the first n clusters, as a new apply set.
func (b *bench) fleetRun(kubeconfig, stream string, n int, set string) (time.Duration, int64, error) {
	bin, err := testcluster.Find("ordapply")
	if err != nil {
		return 0, 0, err
	}
	var names, entries []string
	for i := range n {
		names = append(names, fmt.Sprint("x", i))
		entries = append(entries, fmt.Sprintf("- {name: x%d}\n", i))
	}
	file, err := b.file(set+".fleet.yaml", fmt.Sprintf("apiVersion: ordapply.dev/v1alpha1\nkind: Fleet\nclusters:\n%scohorts:\n- {name: all, clusters: [%s], maxParallel: %d}\n",
		strings.Join(entries, ""), strings.Join(names, ", "), atATime))
	if err != nil {
		return 0, 0, err
	}
	text, err := os.ReadFile(stream)
	if err != nil {
		return 0, 0, err
	}
	own, err := b.file(set+".yaml", strings.ReplaceAll(string(text), "{name: c", "{name: "+set+"-c"))
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.Command(bin, "apply", "-f", own, "--fleet", file, "--applyset", set, "--kubeconfig", filepath.Clean(kubeconfig))
	took, err := timed(cmd)
	if err != nil {
		return 0, 0, err
	}
	return took, peakMemory(cmd), nil
}
