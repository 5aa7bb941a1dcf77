package input

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/text/tree"
	"github.com/ordapply/ordapply/manifest"
	"github.com/ordapply/ordapply/operation/option"
)

// Source reads the manifests of a stream and plans it, as its options say.
type Source struct {
	option.Manifests
	option.Planning
	// Findings receives the findings of stamping; if nil, they are printed.
	Findings *fn.Findings
	// DropText drops the text of documents.
	DropText bool
	// Outcome ends the error of an empty stream, "nothing was applied"; "" if the command writes
	// nothing in any case.
	Outcome string
	// NoSet and NoWait report that the run would have no apply set to roll back to, or would not
	// wait: no stack may be atomic then.
	NoSet, NoWait bool
	// SyncHooksAreSteps plans the hooks that Argo CD runs with the resources of a wave like
	// these, for a command that numbers the waves anew.
	SyncHooksAreSteps bool
}

// ErrNoResources is returned for an empty stream, which must never delete
// everything.
var ErrNoResources = errors.New("the stream contains no resources")

// SkippedFunction is the usual cause of a stream without stamps, and the remedy.
const SkippedFunction = "Did kustomize skip the function? It needs --enable-alpha-plugins, and an exec function also --enable-exec, " +
	"without which it is skipped silently; ordapply -k needs neither"

// errNoOrder refuses a stream without stamps.
var errNoOrder = errors.New("no resource has ordapply.dev/layer: the stream has no order. " + SkippedFunction + ". Or pass the order here, with --order FILE")

// Read returns the manifests, stamped with --order. On error it also returns the readable
// ones.
func (s *Source) Read(ctx context.Context, c *console.Console) ([]apply.Input, error) {
	files, err := s.sources(c)
	if err != nil {
		return nil, err
	}
	var inputs []apply.Input
	var errs []error
	for _, file := range files {
		manifests, err := ReadEach(ctx, c, s, file, s.manifests)
		errs = append(errs, err)
		c.Log.Printf(console.Decisions, "%s read from %s", plain.Count(len(manifests), "resource"), sourceName(file))
		inputs = append(inputs, apply.Inputs(manifests)...)
	}
	if err := errors.Join(errs...); err != nil {
		return inputs, err
	}
	if len(inputs) == 0 {
		return nil, s.withOutcome(ErrNoResources)
	}
	if s.Order != "" {
		if err := s.stamp(ctx, c, inputs); err != nil {
			return inputs, err
		}
	}
	if s.RequireOrder && !slices.ContainsFunc(inputs, isStamped) {
		return nil, errNoOrder
	}
	return inputs, s.applySelector(inputs)
}

// withOutcome adds the command's outcome to an error, if it would have written.
func (s *Source) withOutcome(err error) error {
	if s.Outcome == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, s.Outcome)
}

// applySelector marks the resources that the selector does not match.
func (s *Source) applySelector(inputs []apply.Input) error {
	matches, err := s.Matcher()
	if err != nil {
		return err
	}
	if s.Selector == "" && len(inputs) > 0 {
		return nil
	}
	left := 0
	for i := range inputs {
		if inputs[i].Excluded = !matches(inputs[i].Object.GetLabels()); inputs[i].Excluded {
			left++
		}
	}
	if left == len(inputs) {
		return s.withOutcome(fmt.Errorf("no resource of the stream has labels that match --selector=%s", s.Selector))
	}
	return nil
}

// CheckSet rejects --selector together with an apply set.
func (s *Source) CheckSet(set string) error {
	if set != "" && s.Selector != "" {
		return usage.Errorf("--selector selects a part of the stream, and --applyset needs all of it: the rest would leave the set or be pruned; leave one of them out")
	}
	return nil
}

// Matcher returns a function that reports whether the selector matches labels.
func (s *Source) Matcher() (func(map[string]string) bool, error) {
	selector, err := labels.Parse(s.Selector)
	if err != nil {
		return nil, usage.Errorf("--selector=%s: %w", s.Selector, err)
	}
	return func(of map[string]string) bool { return selector.Matches(labels.Set(of)) }, nil
}

// ReadEach applies read to the files of one -f argument.
func ReadEach[T any](ctx context.Context, c *console.Console, s *Source, name string, read func(source string, stream io.Reader) ([]T, error)) ([]T, error) {
	return abortable.Run(ctx, s.reading(name), func(ctx context.Context) ([]T, error) {
		var all []T
		var errs []error
		err := s.eachFileOnce(ctx, c, name, func(source string, stream io.Reader) error {
			found, err := read(source, stream)
			all, errs = append(all, found...), append(errs, err)
			return nil
		})
		return all, errors.Join(append(errs, err)...)
	})
}

// manifests reads the manifests of one file.
func (s *Source) manifests(source string, stream io.Reader) ([]manifest.Manifest, error) {
	marks := &markReader{Reader: stream}
	read, err := manifest.Read(source, marks)
	if err == nil {
		err = marks.check(source)
	}
	for i := range read {
		if s.DropText {
			read[i].Text = nil
		}
	}
	return read, err
}

// reading describes the reading of a -f argument, for progress messages.
func (s *Source) reading(name string) string {
	switch address := asURL(name); {
	case s.Kustomize != "":
		return "building the kustomization " + RedactedURL(name)
	case name == "-":
		return "reading standard input"
	case address != nil:
		return "reading " + RedactedURL(name)
	}
	return "reading " + name
}

// eachFile opens every file of a -f argument.
func (s *Source) eachFile(ctx context.Context, c *console.Console, name string, visit func(source string, stream io.Reader) error) error {
	if s.Kustomize != "" {
		stream, err := s.build(c)
		if err != nil {
			return err
		}
		return visit("kustomize build "+RedactedURL(name), bytes.NewReader(stream))
	}
	if name == "-" {
		if c.In == nil {
			return errors.New("-f -: there is no standard input: set Streams.In")
		}
		if err := visit("STDIN", c.In); err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
		return nil
	}
	if address := asURL(name); address != nil {
		text, err := downloads().read(ctx, address)
		if err != nil {
			return err
		}
		return visit(RedactedURL(name), bytes.NewReader(text))
	}
	paths, err := s.expand(ctx, c, name)
	if err != nil {
		return err
	}
	for _, path := range paths {
		_, done := activity.Start(ctx, "reading "+path)
		err := abortable.VisitFile(path, visit)
		done()
		if err != nil {
			return err
		}
	}
	return nil
}

// fileText is the content of one file of a -f argument.
type fileText struct {
	source string
	text   []byte
}

// argumentKey is the key of an argument of -f or -k that is read once.
type argumentKey struct {
	name                                string
	recursive, kustomize, plugins, exec bool
}

// eachFileOnce is eachFile; with shared files, they are read once.
func (s *Source) eachFileOnce(ctx context.Context, c *console.Console, name string, visit func(source string, stream io.Reader) error) error {
	if !c.IsShared() {
		return s.eachFile(ctx, c, name, visit)
	}
	key := argumentKey{name, s.Recursive, s.Kustomize != "", s.Plugins, s.Exec}
	files, err := console.Once(c, key, func() (all []fileText, err error) {
		err = s.eachFile(ctx, c, name, func(source string, stream io.Reader) error {
			text, err := io.ReadAll(stream)
			all = append(all, fileText{source, text})
			return err
		})
		return all, err
	})
	for _, file := range files {
		if err := visit(file.source, bytes.NewReader(file.text)); err != nil {
			return err
		}
	}
	return err
}

// Bytes returns all files as one stream.
func (s *Source) Bytes(ctx context.Context, c *console.Console) ([]byte, error) {
	files, err := s.sources(c)
	if err != nil {
		return nil, err
	}
	var texts [][]byte
	for _, file := range files {
		read, err := ReadEach(ctx, c, s, file, func(_ string, stream io.Reader) ([][]byte, error) {
			text, err := io.ReadAll(tree.NewReader(stream))
			return [][]byte{text}, err
		})
		if err != nil {
			return nil, err
		}
		texts = append(texts, read...)
	}
	texts = slices.DeleteFunc(texts, func(text []byte) bool { return len(text) == 0 })
	return bytes.Join(texts, []byte("\n---\n")), nil
}

// IsGiven reports whether the options name manifests, or standard input is piped.
func (s *Source) IsGiven(c *console.Console) bool {
	return len(s.Files) > 0 || s.Kustomize != "" || IsPiped(c.In)
}

// sources returns the -f arguments, or the one of -k; without either, standard
// input if it is piped.
func (s *Source) sources(c *console.Console) ([]string, error) {
	switch {
	case s.Kustomize != "" && (len(s.Files) > 0 || s.Recursive):
		return nil, usage.Errorf("-k builds one folder with a kustomization: leave out -f and -R")
	case s.Kustomize != "":
		return []string{s.Kustomize}, nil
	case len(s.Files) > 0:
		return s.Files, nil
	case IsPiped(c.In):
		return []string{"-"}, nil
	}
	return nil, usage.Errorf("no manifests: name a file with -f or a kustomization with -k, or pipe them in")
}

// expand returns the manifest files of a -f argument: a file, a folder or, as
// in kubectl, a glob pattern if no such file exists.
func (s *Source) expand(ctx context.Context, c *console.Console, name string) ([]string, error) {
	names := []string{name}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		if names, err = filepath.Glob(name); err != nil {
			return nil, fmt.Errorf("read the manifests: pattern %s: %w", name, err)
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("read the manifests: file or folder %s does not exist", RedactedURL(name))
		}
	}
	var paths []string
	for _, name := range names {
		files, err := s.manifestsOf(ctx, c, name)
		if err != nil {
			return nil, err
		}
		paths = append(paths, files...)
	}
	return paths, nil
}

// manifestsOf returns the manifest files of a folder, or the file itself.
func (s *Source) manifestsOf(ctx context.Context, c *console.Console, name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("read the manifests: %w", err)
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	var paths, others []string // files with and without an extension of manifests
	err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != name && !s.Recursive:
			return filepath.SkipDir
		case entry.IsDir():
		case isManifestFile(path):
			paths = append(paths, path)
		default:
			others = append(others, path)
		}
		return nil
	})
	if note := unreadNote(name); note != "" && !s.Recursive {
		plain.Fprintf(c.Err, "note: %s\n", note)
	}
	kustomization := func(path string) bool { return isKustomization(ctx, c, path) }
	switch {
	case err != nil || slices.ContainsFunc(paths, func(path string) bool { return !kustomization(path) }):
	case len(paths) > 0 || slices.ContainsFunc(others, kustomization):
		err = fmt.Errorf("%s contains a kustomization and no manifests: build it with -k %s", name, name)
	default:
		err = fmt.Errorf("%s contains no .yaml, .yml or .json file", name)
	}
	return paths, err
}

// IsPiped reports whether standard input is a pipe or file.
func IsPiped(stdin io.Reader) bool {
	f, ok := stdin.(*os.File)
	if !ok {
		return stdin != nil
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

// SameManifests returns the flags that select the same manifests and order.
func (s *Source) SameManifests() []string {
	files := slices.Clone(s.Files)
	for i := range files {
		files[i] = RedactedURL(files[i])
	}
	flags := []string{"-f", plain.ShellQuote(cmp.Or(strings.Join(files, ","), "-"))}
	if s.Kustomize != "" {
		flags = []string{"-k", plain.ShellQuote(RedactedURL(s.Kustomize))}
	}
	if s.Plugins {
		flags = append(flags, "--enable-alpha-plugins")
	}
	if s.Exec {
		flags = append(flags, "--enable-exec")
	}
	if s.Recursive {
		flags = append(flags, "-R")
	}
	if s.Selector != "" {
		flags = append(flags, "-l", "'"+strings.ReplaceAll(s.Selector, "'", `'\''`)+"'")
	}
	if s.Order != "" {
		flags = append(flags, "--order", plain.ShellQuote(s.Order))
	}
	return flags
}

// ReadLive returns the objects of all files unchanged. Unlike manifests to
// apply, they may have no name.
func (s *Source) ReadLive(ctx context.Context, c *console.Console) ([]*unstructured.Unstructured, error) {
	files, err := s.sources(c)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	var errs []error
	for _, file := range files {
		read, err := ReadEach(ctx, c, s, file, manifest.ReadLive)
		for _, m := range read {
			objects = append(objects, m.Unstructured)
		}
		errs = append(errs, err)
	}
	return objects, errors.Join(errs...)
}
