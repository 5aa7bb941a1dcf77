package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/unkind"
)

// trial is one run of the command.
type trial struct {
	folder, dir string
	shuffles    int
	kubectl     bool
	tools       []tool
	tries       int           // of each tool, in the first orders; 0: in all
	patience    time.Duration // with a try of a tool
	record      string        // file of the rows of finished streams; "": none
	progress    io.Writer
}

// row is the result of one stream in all orders.
type row struct {
	stream  stream
	refused bool // it cannot converge, and errors are expected
	objects int
	tries   int
	good    int
	slowest time.Duration
	grace   time.Duration // longest of all tries
	reviews int           // answered admission reviews of all tries
	faults  int
	writes  int // of ordapply, if none are expected
	kubectl *peer
	tools   []tally
}

// all tries the streams one after another, and records the rows after each. The error joins
// unexpected results, and the streams that cannot be read. There are no rows of a stream that
// was interrupted.
func (t *trial) all(ctx context.Context, chosen []stream) ([]row, error) {
	var rows []row
	var errs []error
	for _, s := range chosen {
		finished, err := t.stream(ctx, s)
		if ctx.Err() != nil {
			break
		}
		rows, errs = append(rows, finished...), append(errs, err)
		if t.record != "" {
			errs = append(errs, writeRecords(t.record, rows))
		}
	}
	return rows, errors.Join(errs...)
}

// stream tries one stream.
func (t *trial) stream(ctx context.Context, s stream) ([]row, error) {
	objects, err := s.read(t.folder)
	if err != nil {
		fmt.Fprintln(t.progress, err)
		return nil, err
	}
	var rows []row
	var errs []error
	if !s.converges() {
		r, err := t.refusals(ctx, s, objects)
		rows, errs = append(rows, r), append(errs, err)
	}
	objects = s.without(objects)
	r, err := t.firstTries(ctx, s, objects)
	errs = append(errs, err)
	r.tools, err = t.withTools(ctx, s, objects)
	return append(rows, r), errors.Join(append(errs, err)...)
}

// orders calls try with each order of the objects.
func (t *trial) orders(ctx context.Context, r *row, objects []*unstructured.Unstructured, try func(seed int, objects []*unstructured.Unstructured) error) error {
	var errs []error
	for seed := range t.shuffles + 1 {
		if ctx.Err() != nil {
			break
		}
		r.tries++
		if err := try(seed, shuffled(objects, seed)); err != nil {
			errs = append(errs, fmt.Errorf("%s, %s: %w", r.stream.name, orderName(seed), err))
			fmt.Fprintln(t.progress, errs[len(errs)-1])
			continue
		}
		r.good++
	}
	return errors.Join(errs...)
}

func orderName(seed int) string {
	if seed == 0 {
		return "as it stands"
	}
	return fmt.Sprintf("shuffle %d", seed)
}

// firstTries applies a stream to empty clusters with its prerequisites.
func (t *trial) firstTries(ctx context.Context, s stream, objects []*unstructured.Unstructured) (row, error) {
	r := row{stream: s, objects: len(objects)}
	err := t.orders(ctx, &r, objects, func(seed int, objects []*unstructured.Unstructured) error {
		return t.firstTry(ctx, &r, seed, objects)
	})
	return r, err
}

func (t *trial) firstTry(ctx context.Context, r *row, seed int, objects []*unstructured.Unstructured) (err error) {
	p, err := openFor(ctx, t.dir, r.stream)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	file, err := p.write(objects)
	if err != nil {
		return err
	}
	got, err := p.ordapply(ctx, file, r.stream.flags()...)
	if err != nil {
		return err
	}
	grace, err := graceOf(strings.NewReader(got.stdout))
	if err != nil {
		return err
	}
	fmt.Fprintf(t.progress, "%s, %s: exit code %d after %.1fs, %.1fs of them grace, %d admission reviews; %s\n",
		r.stream.name, orderName(seed), got.code, got.took.Seconds(), grace.Seconds(), p.pods.Calls(), summary(got.stderr))
	r.slowest, r.grace, r.reviews = max(r.slowest, got.took), max(r.grace, grace), r.reviews+p.pods.Calls()
	if got.code != 0 {
		return fmt.Errorf("ordapply ended with exit code %d:\n%s", got.code, lastLines(got.stderr, 60))
	}
	if r.stream.program != nil && !unkind.PodsAreReady(p.Cluster) {
		found, _ := p.TryKubectl("get", "pods", "-A")
		return fmt.Errorf("ordapply ended before all Pods were ready:\n%s", found)
	}
	if err := p.checkExist(kept(objects), r.stream.namespace); err != nil {
		return err
	}
	if seed == 0 && t.kubectl {
		r.kubectl, err = t.withKubectl(ctx, r.stream, objects)
	}
	return err
}

// summary returns the summary line of a run.
func summary(output string) string {
	found := ""
	for line := range strings.Lines(output) {
		if strings.Contains(line, ", in ") && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "error") {
			found = strings.TrimSpace(line)
		}
	}
	return found
}

// refusals applies an unmodified stream to empty clusters. All its errors must
// be reported, and nothing written.
func (t *trial) refusals(ctx context.Context, s stream, objects []*unstructured.Unstructured) (row, error) {
	r := row{stream: s, refused: true, objects: len(objects)}
	faulty := s.faulty(objects)
	r.faults = len(faulty)
	for _, count := range s.unnamed {
		r.faults += count
	}
	err := t.orders(ctx, &r, objects, func(seed int, objects []*unstructured.Unstructured) error {
		return t.refusal(ctx, &r, faulty, seed, objects)
	})
	return r, err
}

func (t *trial) refusal(ctx context.Context, r *row, faulty []object.ID, seed int, objects []*unstructured.Unstructured) (err error) {
	bare := r.stream
	bare.finds = nil
	p, err := openFor(ctx, t.dir, bare)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	file, err := p.write(objects)
	if err != nil {
		return err
	}
	// No other kinds will appear, so do not wait for any.
	got, err := p.ordapply(ctx, file, append(r.stream.flags(), "--kind-timeout=0")...)
	if err != nil {
		return err
	}
	writes, err := p.writes()
	if err != nil {
		return err
	}
	fmt.Fprintf(t.progress, "%s, %s: exit code %d after %.1fs, %d writes; %s\n",
		r.stream.name, orderName(seed), got.code, got.took.Seconds(), writes, summary(got.stderr))
	r.slowest, r.writes = max(r.slowest, got.took), r.writes+writes
	return r.stream.refusedWell(got, writes, faulty)
}

// refusedWell returns the faults of the reported errors.
func (s stream) refusedWell(got outcome, writes int, faulty []object.ID) error {
	var errs []error
	if got.code == 0 {
		errs = append(errs, errors.New("ordapply succeeded"))
	}
	if writes > 0 {
		errs = append(errs, fmt.Errorf("%d requests wrote before the faults were named", writes))
	}
	_, output, _ := strings.Cut(got.stderr, "error: ")
	for _, id := range faulty {
		if !strings.Contains(output, id.String()+":") && !strings.Contains(output, id.String()+"\n") {
			errs = append(errs, fmt.Errorf("%s is not named", id))
		}
	}
	for text, want := range s.unnamed {
		if count := strings.Count(output, text); count != want {
			errs = append(errs, fmt.Errorf("%q comes %d times, not %d", text, count, want))
		}
	}
	if len(errs) > 0 {
		errs = append(errs, errors.New(lastLines(got.stderr, 60)))
	}
	return errors.Join(errs...)
}
