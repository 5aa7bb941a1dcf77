package export

import (
	"strings"

	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/internal/view/diff"
)

// manifests compares the resources of the layers.
func (f *finder) manifests(want, have []document) {
	found := map[string]document{}
	for _, d := range have {
		first, twice := found[d.id()]
		if !twice {
			found[d.id()] = d
			continue
		}
		later := d
		if f.differs[first.path] && !f.differs[d.path] {
			found[d.id()], later = d, first
		}
		f.add(Finding{later.path, d.name() + " is in the tree twice, also in " + found[d.id()].path, "two layers would apply it in turn", "remove this file"})
	}
	wanted := f.pair(want, found, func(d document) string { return "layer " + layerOf(d.path) + " would be ready without it" }, func(d, got document) {
		f.place(d, got)
		f.manifest(d, got)
	})
	for _, d := range have {
		if !wanted[d.id()] && !f.explained[d.path] {
			f.extra(d)
		}
	}
}

// place compares the layer of a resource.
func (f *finder) place(want, have document) {
	switch {
	case want.path == have.path:
	case layerOf(want.path) != layerOf(have.path):
		f.add(Finding{have.path, have.name() + " is in layer " + layerOf(have.path) + ", and the order has it in layer " + layerOf(want.path),
			"it would be applied before what it waits for, or after what waits for it", "move it to " + want.path}, want.path)
	default:
		f.add(Finding{have.path, have.name() + " is in another file than an export writes", "the next export would remove it", "move it to " + want.path}, want.path)
	}
}

// manifest compares the fields of a resource.
func (f *finder) manifest(want, have document) {
	wave := func(d document) string { return d.text("metadata", "annotations", stamp.SyncWave) }
	if wave(want) != wave(have) {
		f.add(Finding{have.path, have.name() + " is in " + waveText(wave(have)) + ", and the order has it in " + waveText(wave(want)),
			"Argo CD would apply it before what it waits for, or after what waits for it", "set the annotation " + stamp.SyncWave + ` to "` + wave(want) + `"`})
		setAnnotation(have.object, stamp.SyncWave, wave(want))
	}
	secret := want.text("kind") == "Secret"
	for i, c := range diff.Between(want.object, have.object) {
		if i == 3 {
			f.add(Finding{have.path, have.name() + " differs in further fields", "", again})
			break
		}
		f.add(Finding{have.path, have.name() + " differs from the stream, " + changeText(c, secret), "the engine applies what the stream does not say", "change the stream, and " + again})
	}
}

// waveText names a sync wave.
func waveText(wave string) string {
	if wave == "" {
		return "no sync wave"
	}
	return "sync wave " + wave
}

// setAnnotation sets an annotation of an object; "" removes it.
func setAnnotation(object map[string]any, key, value string) {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	switch {
	case metadata == nil:
	case value == "":
		delete(annotations, key)
	case annotations == nil:
		metadata["annotations"] = map[string]any{key: value}
	default:
		annotations[key] = value
	}
}

// extra reports a resource that is not in the stream.
func (f *finder) extra(d document) {
	if strings.HasPrefix(d.text("apiVersion"), "kustomize.config.k8s.io/") {
		f.add(Finding{d.path, "a kustomization changes what the engine applies of layer " + layerOf(d.path), "no export wrote it", "remove it"})
		return
	}
	f.add(Finding{d.path, d.name() + " is not in the stream", "the engine applies it with layer " + layerOf(d.path) + ", and no order says where it belongs", "remove the file, or add the manifest to the stream"})
}
