package units

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/text/tree"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Stream holds exported manifests and their plan.
type Stream struct {
	Plan    *ordering.Plan
	Objects map[object.ID]*unstructured.Unstructured // of all steps, with their namespaces
	// Texts are the documents as their author wrote them. One that differs from its object,
	// because a namespace was set, is not used.
	Texts    map[object.ID][]byte
	Hooks    map[object.ID][]byte // the documents of Helm hooks
	Assessor *health.Assessor
}

// Object returns the manifest of a step.
func (s *Stream) Object(step int) *unstructured.Unstructured {
	return s.Objects[s.Plan.Steps[step].ID]
}

// IsInstant reports whether the resource of a step is ready as soon as it exists.
func (s *Stream) IsInstant(step int) bool {
	obj := s.Object(step)
	c, ok := s.Assessor.Conditions(obj)
	if ok {
		return c.Ready == "true" && c.Failed == ""
	}
	a := health.Assess(obj)
	return object.IsNative(obj.GroupVersionKind().Group) && a.Verdict == health.Ready && len(a.Backends) == 0
}

// Manifest returns the document of a step, with further annotations: the author's text
// where nothing needs to be added.
func (s *Stream) Manifest(step int, add map[string]string) ([]byte, error) {
	obj := s.Object(step)
	text := s.Texts[s.Plan.Steps[step].ID]
	var written unstructured.Unstructured
	if len(add) == 0 && yaml.Unmarshal(text, &written.Object) == nil && written.GetNamespace() == obj.GetNamespace() && written.GetKind() == obj.GetKind() {
		return text, nil
	}
	if len(add) > 0 {
		obj = obj.DeepCopy()
		annotations := obj.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		maps.Copy(annotations, add)
		obj.SetAnnotations(annotations)
	}
	return tree.PrintObject(obj.Object)
}

// Tree is an export's output.
type Tree struct {
	Files   map[string][]byte // by slash-separated path
	Remarks []string          // notes for the user
	Lost    []string          // parts of the order the engine drops
}

// Add adds a file, which must not be in the tree.
func (t *Tree) Add(path string, text []byte) error {
	if _, has := t.Files[path]; has {
		return fmt.Errorf("two files of the tree have the path %s", path)
	}
	if t.Files == nil {
		t.Files = map[string][]byte{}
	}
	t.Files[path] = text
	return nil
}

// AddObjects adds a file with objects of an engine, and a comment above them.
func (t *Tree) AddObjects(path, comment string, objects ...map[string]any) error {
	var out bytes.Buffer
	plain.Fprintf(&out, "# %s\n", comment)
	for i, o := range objects {
		if i > 0 {
			out.WriteString("---\n")
		}
		text, err := yaml.Marshal(o)
		if err != nil {
			return err
		}
		out.Write(text)
	}
	return t.Add(path, out.Bytes())
}

// AddLayer adds the manifests of a unit below layers/, each in a file of its own.
func (t *Tree) AddLayer(s *Stream, unit Unit, annotations func(step int) map[string]string) error {
	names := s.fileNames(unit.Steps)
	for i, step := range unit.Steps {
		text, err := s.Manifest(step, annotations(step))
		if err != nil {
			return fmt.Errorf("write %s: %w", s.Plan.Steps[step].ID, err)
		}
		if err := t.Add("layers/"+unit.Name+"/"+names[i], text); err != nil {
			return err
		}
	}
	return nil
}

// fileNames names the files of manifests: by kind, namespace and name, and also by group
// where that is not enough.
func (s *Stream) fileNames(steps []int) []string {
	names := make([]string, len(steps))
	taken := map[string]int{}
	for i, step := range steps {
		id := s.Plan.Steps[step].ID
		names[i] = Label(id.Kind) + "-" + joined(id)
		taken[names[i]]++
	}
	for i, step := range steps {
		if taken[names[i]] > 1 {
			names[i] += "-" + digest(s.Plan.Steps[step].ID)
		}
		names[i] += ".yaml"
	}
	return names
}

// AddLost describes the losses, sorted by resource.
func (t *Tree) AddLost(s *Stream, lost []Lost) {
	for _, l := range lost {
		t.Lost = append(t.Lost, fmt.Sprintf("%s %s", s.Plan.Steps[l.Step].ID, l.Detail))
	}
	slices.Sort(t.Lost)
	t.Lost = slices.Compact(t.Lost)
}

// AssumedRemark returns the remark on a kind without a rule.
func AssumedRemark(kind string) string {
	return kind + ": no rule says when it is ready, so that its layer waits until its status says so; if nothing writes one, give a rule with --health-rules"
}

// RemarkSecrets adds a remark on the Secrets of the stream, and puts the remarks in order.
func (t *Tree) RemarkSecrets(s *Stream) {
	var secrets []string
	for _, step := range s.Plan.Steps {
		if step.ID.GroupKind() == "Secret" {
			secrets = append(secrets, step.ID.Name)
		}
	}
	if len(secrets) > 0 {
		names := strings.Join(plain.Sample(secrets, 3, "%d more", strings.Clone), ", ")
		t.Remarks = append(t.Remarks, plain.Sprintf("the tree has %s in plain text (%s): encrypt before you publish it", plain.Count(len(secrets), "Secret"), names))
	}
	slices.Sort(t.Remarks)
	t.Remarks = slices.Compact(t.Remarks)
}
