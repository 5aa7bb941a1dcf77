package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/ordapply/ordapply/test/testcluster"
)

// documents measures how the time of sortorder grows from 25,000 to 100,000
// documents of which every second one is placed, and its peak resident memory for
// the latter.
func documents(b *bench) error {
	bin, err := testcluster.Find("sortorder")
	if err != nil {
		return err
	}
	order, err := b.file("order.yaml", "apiVersion: ordapply.dev/v1alpha1\nkind: SortOrder\nmetadata: {name: documents}\nsortOrder:\n- labelSelector: {matchLabels: {tier: front}}\n")
	if err != nil {
		return err
	}
	files := map[int]string{}
	for _, n := range []int{25_000, 100_000} {
		if files[n], err = b.file(fmt.Sprint(n, ".yaml"), labelled(n)); err != nil {
			return err
		}
	}
	var peak int64
	sort := func(n int) (time.Duration, error) {
		in, err := os.Open(files[n])
		if err != nil {
			return 0, err
		}
		defer in.Close()
		cmd := exec.Command(bin, "--order", order)
		cmd.Stdin = in
		d, err := timed(cmd)
		peak = max(peak, peakMemory(cmd))
		return d, err
	}
	small, err := sort(25_000)
	if err != nil {
		return err
	}
	large, err := sort(100_000)
	if err != nil {
		return err
	}
	growth := large.Seconds() / small.Seconds()
	fmt.Printf("sortorder: 100,000 documents in %s, %.1f times the time of 25,000; limit 6: %s; peak resident memory %d MB; limit 600: %s\n",
		large.Round(100*time.Millisecond), growth, verdict(growth < 6), peak, verdict(peak < 600))
	return nil
}

func labelled(n int) string {
	var b strings.Builder
	for i := range n {
		tier := []string{"front", "none"}[i%2]
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c%d\n  namespace: documents\n  labels: {tier: %s}\ndata: {key: value}\n", i, tier)
	}
	return b.String()
}
