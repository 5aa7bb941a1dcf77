// Package manifest reads streams of Kubernetes manifests and says of each
// where it stood. Whatever is wrong with a stream is reported all at once.
//
//	manifests, err := manifest.Read("STDIN", data)
package manifest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Manifest is one object of a stream.
type Manifest struct {
	*unstructured.Unstructured
	// Source is where it stood, for people: "STDIN, document 7 (line 120)".
	Source string
	// Chart is the path of the Helm chart that it was rendered from,
	// "foo/charts/bar", as `helm template` comments it; "" without a comment.
	Chart string
	// Text is the document as it stood; nil for an item of a List.
	Text []byte
}

// Read takes a stream of YAML or JSON documents apart. Lists, also typed ones
// such as RoleList, give their items. Documents without content, Kptfiles and
// objects marked config.kubernetes.io/local-config are left out. Duplicate
// keys are errors, as are objects that cannot be applied by name.
func Read(name string, data []byte) ([]Manifest, error) {
	return ReadFrom(name, bytes.NewReader(data))
}

// ReadFrom is Read for a stream that need not be in memory as a whole. Its
// documents are read on all processors.
func ReadFrom(name string, stream io.Reader) ([]Manifest, error) {
	return readAll(name, stream, func(obj *unstructured.Unstructured) (bool, error) {
		if isLocal(obj) {
			return false, nil
		}
		return true, check(obj)
	})
}

// ReadLive reads objects as a cluster has them, or notes and tests. Unlike those
// that are to be applied they may lack a name. What it gives stands for all that
// could be read, also beside an error.
func ReadLive(name string, stream io.Reader) ([]Manifest, error) {
	return readAll(name, stream, func(obj *unstructured.Unstructured) (bool, error) { return true, checkKind(obj) })
}

// wanted tells whether an object is wanted, and what is wrong with it.
type wanted func(*unstructured.Unstructured) (bool, error)

func readAll(name string, stream io.Reader, want wanted) ([]Manifest, error) {
	var manifests []Manifest
	var errs []error
	for result := range inOrder(stream, func(doc document) parsed { return parse(name, doc, want) }) {
		one := <-result
		if one.broken != nil {
			return manifests, errors.Join(append(errs, fmt.Errorf("%s: %w", name, one.broken))...)
		}
		manifests, errs = append(manifests, one.manifests...), append(errs, one.errs...)
	}
	return manifests, errors.Join(errs...)
}

// parsed is what one document holds.
type parsed struct {
	manifests []Manifest
	errs      []error
	broken    error // of the stream, which ends here
}

// inOrder reads the documents of a stream, several at a time, and gives what
// each will turn out to be, in their order. It must be read to its end.
func inOrder(stream io.Reader, read func(document) parsed) <-chan chan parsed {
	results := make(chan chan parsed, 2*runtime.GOMAXPROCS(0))
	go func() {
		defer close(results)
		for doc, err := range documents(stream) {
			result := make(chan parsed, 1)
			results <- result
			if err != nil {
				result <- parsed{broken: err}
				return
			}
			go func() { result <- read(doc) }()
		}
	}()
	return results
}

// parse reads one document of a stream.
func parse(name string, doc document, want wanted) (out parsed) {
	source := fmt.Sprintf("%s, document %d (line %d)", name, doc.number, doc.first)
	fail := func(err error) { out.errs = append(out.errs, fmt.Errorf("%s: %w", source, err)) }
	whole, err := decode(doc)
	if err != nil {
		fail(err)
		return out
	}
	objects, err := explode(whole)
	if err != nil {
		fail(err)
		return out
	}
	for _, obj := range objects {
		ok, err := want(obj)
		if err != nil {
			fail(err)
		}
		if !ok || err != nil {
			continue
		}
		m := Manifest{Unstructured: obj, Source: source, Chart: chartOf(doc.text)}
		if obj == whole {
			m.Text = doc.text
		}
		out.manifests = append(out.manifests, m)
	}
	return out
}

// decode reads a document; nil when it holds nothing.
func decode(doc document) (*unstructured.Unstructured, error) {
	body, err := yaml.YAMLToJSONStrict(doc.text)
	if err != nil {
		return nil, atLine(withoutValues(err), doc.line)
	}
	var value any
	if err := utiljson.Unmarshal(body, &value); err != nil {
		return nil, err
	}
	if value == nil {
		return nil, nil
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it is no Kubernetes object: a mapping with apiVersion and kind is needed, and this is a %s", shape(value))
	}
	return &unstructured.Unstructured{Object: object}, nil
}

func shape(value any) string {
	switch value.(type) {
	case []any:
		return "list"
	case string:
		return "text"
	default:
		return "single value"
	}
}

// explode gives the items of a List or typed List, and any other object as it
// is. Items of a typed List may leave out their kind: the List's says it.
func explode(obj *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	if obj == nil {
		return nil, nil
	}
	itemKind, isList := strings.CutSuffix(obj.GetKind(), "List")
	items, hasItems := obj.Object["items"].([]any)
	if !isList || !hasItems {
		return []*unstructured.Unstructured{obj}, nil
	}
	var out []*unstructured.Unstructured
	for i, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: items[%d] is no object", obj.GetKind(), i)
		}
		u := &unstructured.Unstructured{Object: object}
		if u.GetKind() == "" && itemKind != "" {
			u.SetKind(itemKind)
			u.SetAPIVersion(obj.GetAPIVersion())
		}
		nested, err := explode(u)
		if err != nil {
			return nil, err
		}
		out = append(out, nested...)
	}
	return out, nil
}

// chartOf reads the comment by which Helm says where a document comes from:
// "# Source: foo/charts/bar/templates/service.yaml".
func chartOf(text []byte) string {
	const comment = "# Source: "
	for line := range bytes.Lines(text) {
		path, ok := bytes.CutPrefix(line, []byte(comment))
		if !ok {
			if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
				return ""
			}
			continue
		}
		for _, folder := range []string{"/templates/", "/crds/"} {
			if chart, _, found := strings.Cut(string(path), folder); found {
				return chart
			}
		}
	}
	return ""
}

func isLocal(obj *unstructured.Unstructured) bool {
	return obj.GetAnnotations()["config.kubernetes.io/local-config"] == "true" ||
		obj.GetKind() == "Kptfile" && strings.HasPrefix(obj.GetAPIVersion(), "kpt.dev/")
}

func check(obj *unstructured.Unstructured) error {
	if err := checkTexts(obj, "labels"); err != nil {
		return err
	}
	if err := checkTexts(obj, "annotations"); err != nil {
		return err
	}
	if err := checkKind(obj); err != nil {
		return err
	}
	switch {
	case obj.GetKind() == "SortOrder" && strings.HasPrefix(obj.GetAPIVersion(), "ordapply.dev/"):
		return fmt.Errorf("SortOrder %s is a configuration, not a resource: list it under transformers in the kustomization, or pass it with --order", obj.GetName())
	case strings.HasPrefix(obj.GetAPIVersion(), "kustomize.config.k8s.io/"):
		return fmt.Errorf("%s is what kustomize reads, not a resource: run kustomize build on its folder and pipe in what that prints", obj.GetKind())
	case obj.GetName() == "" && obj.GetGenerateName() != "":
		return fmt.Errorf("%s %s…: metadata.generateName makes a new object on each run, and apply needs a name that stays: give it metadata.name, or create it with kubectl create", obj.GetKind(), obj.GetGenerateName())
	case obj.GetName() == "":
		return fmt.Errorf("%s: metadata.name is missing", obj.GetKind())
	}
	return nil
}

func checkKind(obj *unstructured.Unstructured) error {
	switch {
	case obj.GetKind() == "":
		return errors.New("kind is missing")
	case obj.GetAPIVersion() == "":
		return fmt.Errorf("%s %s: apiVersion is missing", obj.GetKind(), obj.GetName())
	}
	return nil
}

// document is one YAML document and where it began.
type document struct {
	text   []byte
	number int // from 1, counting documents with content
	line   int // of its first line in the stream, from 1
	first  int // of its first line with content
}

// documents cuts a stream at its document markers. Documents that hold nothing
// but blanks and comments are left out. An error ends the stream.
func documents(stream io.Reader) iter.Seq2[document, error] {
	return func(yield func(document, error) bool) {
		lines := bufio.NewReaderSize(stream, 64<<10)
		next := document{number: 1, line: 1}
		cut := func() bool {
			skip, ok := beforeContent(next.text)
			if !ok {
				return true
			}
			for _, one := range values(next, skip) {
				if !yield(one, nil) {
					return false
				}
				next.number = one.number + 1
			}
			return true
		}
		for line := 1; ; line++ {
			text, err := lines.ReadBytes('\n')
			if line == 1 {
				text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
			}
			if isMarker(text) {
				if !cut() {
					return
				}
				next.text, next.line, text = nil, line, text[len("---"):]
			}
			next.text = append(next.text, text...)
			if err == io.EOF {
				cut()
				return
			}
			if err != nil {
				yield(document{}, err)
				return
			}
		}
	}
}

// values cuts a document into the JSON objects that it holds one after another,
// as jq prints them, and what stands behind them. All else is one value; skip
// counts the lines before its content.
func values(whole document, skip int) []document {
	whole.first = whole.line + skip
	var all []document
	rest, ok := whole, true
	for ok {
		end := endOfObject(rest.text, skip)
		if end < 0 {
			break
		}
		one := rest
		one.text = rest.text[:end:end]
		all = append(all, one)
		rest.line += bytes.Count(one.text, []byte("\n"))
		rest.text, rest.number = rest.text[end:], rest.number+1
		skip, ok = beforeContent(rest.text)
		rest.first = rest.line + skip
	}
	switch {
	case len(all) == 0 || len(all) == 1 && !ok:
		return []document{whole}
	case ok:
		all = append(all, rest)
	}
	return all
}

// endOfObject tells where the JSON object ends that begins a text, after some
// lines to skip; -1 when there is none.
func endOfObject(text []byte, skip int) int {
	begin := 0
	for ; skip > 0; skip-- {
		begin += bytes.IndexByte(text[begin:], '\n') + 1
	}
	decoder := json.NewDecoder(bytes.NewReader(text[begin:]))
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil || value[0] != '{' {
		return -1
	}
	return begin + int(decoder.InputOffset())
}

func isMarker(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && (len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0])))
}

// beforeContent counts the lines of blanks and comments before a document's
// content; ok is false when there is none.
func beforeContent(text []byte) (lines int, ok bool) {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return lines, true
		}
		lines++
	}
	return 0, false
}
