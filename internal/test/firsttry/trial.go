package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
)

// trial is one run of the command.
type trial struct {
	folder, dir string
	shuffles    int
	kubectl     bool
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
	reviews int // answered admission reviews of all tries
	faults  int
	writes  int // of ordapply, if none are expected
	kubectl *peer
}

// all tries the streams one after another. The error joins unexpected results;
// the rows are complete up to there.
func (t *trial) all(ctx context.Context, chosen []stream) ([]row, error) {
	var rows []row
	var errs []error
	for _, s := range chosen {
		objects, err := s.read(t.folder)
		if err != nil {
			return rows, err
		}
		if !s.converges() {
			r, err := t.refusals(ctx, s, objects)
			rows, errs = append(rows, r), append(errs, err)
		}
		r, err := t.firstTries(ctx, s, s.without(objects))
		rows, errs = append(rows, r), append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return rows, errors.Join(errs...)
}

// orders calls try with a file for each order of the objects.
func (t *trial) orders(ctx context.Context, r *row, objects []*unstructured.Unstructured, try func(seed int, file string) error) error {
	var errs []error
	for seed := range t.shuffles + 1 {
		if ctx.Err() != nil {
			break
		}
		text, err := encode(contents(shuffled(objects, seed)))
		if err != nil {
			return err
		}
		file := filepath.Join(t.dir, r.stream.name+".yaml")
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
		r.tries++
		if err := try(seed, file); err != nil {
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

// firstTries applies a stream to empty clusters that have what it expects.
func (t *trial) firstTries(ctx context.Context, s stream, objects []*unstructured.Unstructured) (row, error) {
	r := row{stream: s, objects: len(objects)}
	err := t.orders(ctx, &r, objects, func(seed int, file string) error { return t.firstTry(ctx, &r, seed, file) })
	return r, err
}

func (t *trial) firstTry(ctx context.Context, r *row, seed int, file string) (err error) {
	p, err := openFor(ctx, t.dir, r.stream)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	got, err := p.ordapply(ctx, file, r.stream.flags()...)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.progress, "%s, %s: exit code %d after %.1fs, %d admission reviews; %s\n",
		r.stream.name, orderName(seed), got.code, got.took.Seconds(), p.pods.Calls(), summary(got.output))
	r.slowest, r.reviews = max(r.slowest, got.took), r.reviews+p.pods.Calls()
	if got.code != 0 {
		return fmt.Errorf("ordapply ended with exit code %d:\n%s", got.code, lastLines(got.output, 60))
	}
	if err := p.checkExists(file, r.stream.namespace, r.objects); err != nil {
		return err
	}
	if seed == 0 && t.kubectl {
		r.kubectl, err = t.withKubectl(ctx, r.stream, file, r.objects)
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
	err := t.orders(ctx, &r, objects, func(seed int, file string) error { return t.refusal(ctx, &r, faulty, seed, file) })
	return r, err
}

func (t *trial) refusal(ctx context.Context, r *row, faulty []object.ID, seed int, file string) (err error) {
	bare := r.stream
	bare.finds = nil
	p, err := openFor(ctx, t.dir, bare)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
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
		r.stream.name, orderName(seed), got.code, got.took.Seconds(), writes, summary(got.output))
	r.slowest, r.writes = max(r.slowest, got.took), r.writes+writes
	return r.stream.refusedWell(got, writes, faulty)
}

// refusedWell returns what is missing in the reported errors.
func (s stream) refusedWell(got outcome, writes int, faulty []object.ID) error {
	var errs []error
	if got.code == 0 {
		errs = append(errs, errors.New("ordapply succeeded"))
	}
	if writes > 0 {
		errs = append(errs, fmt.Errorf("%d requests wrote before the faults were named", writes))
	}
	_, output, _ := strings.Cut(got.output, "error: ")
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
		errs = append(errs, errors.New(lastLines(got.output, 60)))
	}
	return errors.Join(errs...)
}
