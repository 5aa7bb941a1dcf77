package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/test/auditlog"
	"github.com/ordapply/ordapply/test/corpora"
	"github.com/ordapply/ordapply/test/measure"
	"github.com/ordapply/ordapply/test/observer"
	"github.com/ordapply/ordapply/test/testcluster"
)

// firstApply measures 1,000 ConfigMaps, whole processes, against a bare loop.
func firstApply(b *bench) error {
	cluster, err := b.cluster("cluster", "--light")
	if err != nil {
		return err
	}
	bare := filepath.Join(b.dir, "bare")
	if out, err := exec.Command("go", "build", "-o", bare, "./test/bench/bare").CombinedOutput(); err != nil {
		return fmt.Errorf("build the bare loop: %s", out)
	}
	fresh := func(side string, round int) (string, error) {
		namespace := fmt.Sprintf("%s-%d", side, round)
		if out, err := cluster.TryKubectl("create", "namespace", namespace); err != nil {
			return "", fmt.Errorf("%s", out)
		}
		return b.file("configmaps.yaml", configMaps(1000, namespace))
	}
	return b.compare("first apply of 1,000 ConfigMaps", 1.15, func(round int) (time.Duration, error) {
		file, err := fresh("ours", round)
		if err != nil {
			return 0, err
		}
		return apply(cluster, file)
	}, func(round int) (time.Duration, error) {
		file, err := fresh("bare", round)
		if err != nil {
			return 0, err
		}
		return timed(exec.Command(bare, cluster.Kubeconfig, file))
	})
}

// chain measures 20 Deployments, each waiting for the one before it and ready
// after 0.5 s, as seen by an observer and the audit log.
func chain(b *bench) error {
	cluster, err := b.cluster("cluster")
	if err != nil {
		return err
	}
	var ratios []float64
	var gaps []time.Duration
	for round := range b.rounds {
		namespace := fmt.Sprintf("chain-%d", round)
		file, err := b.file("chain.yaml", deploymentChain(20, namespace))
		if err != nil {
			return err
		}
		watch, err := observer.Start(context.Background(), cluster.Kubeconfig)
		if err != nil {
			return err
		}
		if _, err := apply(cluster, file); err != nil {
			return err
		}
		watch.Stop()
		ratio, own, err := chainTimes(cluster, watch, namespace, 20)
		if err != nil {
			return err
		}
		ratios, gaps = append(ratios, ratio), append(gaps, own...)
	}
	slices.Sort(ratios)
	low, high := measure.Interval(len(ratios))
	fmt.Printf("chain of 20 gated Deployments: total over the sum of their own ready times %.3f, 95 %% interval %.3f to %.3f; limit 1.10: %s\n",
		ratios[len(ratios)/2], ratios[low], ratios[high], verdict(ratios[low] <= 1.1))
	fmt.Printf("gate to next request: median %s of %d, from the answer to the write that made it ready; limit 5ms: %s\n",
		measure.Median(gaps), len(gaps), verdict(measure.Median(gaps) < 5*time.Millisecond))
	return nil
}

// chainTimes returns the ratio of a chain's total time to the sum of its
// members' times, and the gaps between them, from the audit log.
func chainTimes(cluster *testcluster.Cluster, watch *observer.Observer, namespace string, n int) (float64, []time.Duration, error) {
	log, err := auditlog.Read(cluster.AuditLog())
	if err != nil {
		return 0, nil, err
	}
	var own time.Duration
	var gaps []time.Duration
	var first, last time.Time
	for i := range n {
		key := auditlog.Key{Resource: "deployments", Namespace: namespace, Name: fmt.Sprintf("d%d", i)}
		version, ok := watch.ReadyAt(key)
		sent, ready := log.Patches[key], log.Written[version]
		if !ok || sent.IsZero() || ready.IsZero() {
			return 0, nil, fmt.Errorf("the audit log has no times of %s", key.Name)
		}
		if i == 0 {
			first = sent
		} else {
			gaps = append(gaps, sent.Sub(last))
		}
		own += ready.Sub(sent)
		last = ready
	}
	return float64(last.Sub(first)) / float64(own), gaps, nil
}

func deploymentChain(n int, namespace string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", namespace)
	for i := range n {
		fmt.Fprintf(&b, `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d%d, namespace: %s, annotations: {ordapply.dev/layer: chain/l%d, ordapply.dev/wave: "%d"}}
spec:
  selector: {matchLabels: {app: d%d}}
  template:
    metadata: {labels: {app: d%d}, annotations: {localcluster/ready-after: 500ms}}
    spec: {containers: [{name: c, image: c}]}
`, i, namespace, i, i, i, i)
	}
	return b.String()
}

// orderingOnOff measures kube-prometheus on new control planes, in waves and
// all at once.
func orderingOnOff(b *bench) error {
	file, err := b.kubePrometheus()
	if err != nil {
		return err
	}
	with := func(flag string) side {
		return func(round int) (time.Duration, error) {
			cluster, err := b.cluster(fmt.Sprintf("c%s%d", strings.TrimPrefix(flag, "--ordering="), round), "--ready-after", "500ms..501ms")
			if err != nil {
				return 0, err
			}
			defer b.stop()
			return apply(cluster, file, flag)
		}
	}
	return b.compare("kube-prometheus in waves against all at once", 1.10, with("--ordering=true"), with("--ordering=false"))
}

// kubePrometheus returns that stream, without waits for APIServices: their
// backends are Pods, and none runs here.
func (b *bench) kubePrometheus() (string, error) {
	dir, err := corpora.Dir()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(dir, "kube-prometheus.yaml"))
	if err != nil {
		return "", err
	}
	const kind = "kind: APIService\nmetadata:\n"
	return b.file("kube-prometheus.yaml", strings.ReplaceAll(string(text), kind, kind+"  annotations: {ordapply.dev/wait: none}\n"))
}

// memory measures peak resident memory for 5,000 Deployments of 4 KB with live
// status.
func memory(b *bench) error {
	cluster, err := b.cluster("cluster")
	if err != nil {
		return err
	}
	file, err := b.file("deployments.yaml", bigDeployments(5000))
	if err != nil {
		return err
	}
	d, peak, err := applyWithMemory(cluster, file, "--wave-timeout", "30m")
	if err != nil {
		return err
	}
	fmt.Printf("5,000 Deployments of 4 KB in %s: peak resident memory %d MB; limit 150: %s\n", d.Round(time.Second), peak, verdict(peak < 150))
	return nil
}

func bigDeployments(n int) string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Namespace\nmetadata: {name: memory}\n")
	for i := range n {
		fmt.Fprintf(&b, `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d%d, namespace: memory, annotations: {text: %q}}
spec:
  replicas: 0
  selector: {matchLabels: {app: d%d}}
  template:
    metadata: {labels: {app: d%d}}
    spec: {containers: [{name: c, image: c}]}
`, i, strings.Repeat("x", 3700), i, i)
	}
	return b.String()
}
