package appliers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// writeInventory writes the inventory template of cli-utils beside the stream, once.
func writeInventory(to Target) error {
	template := filepath.Join(to.Dir, "inventory-template.yaml")
	if _, err := os.Stat(template); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(template, fmt.Appendf(nil, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: inventory\n  namespace: %s\n  labels: {cli-utils.sigs.k8s.io/inventory-id: %s}\n", to.Namespace, to.Namespace), 0o644)
}

// writeChart writes the stream as a Helm chart, with the CustomResourceDefinitions in crds/:
// Helm does not read these as templates, and waits for them before the others.
func writeChart(to Target) error {
	text, err := os.ReadFile(to.File())
	if err != nil {
		return err
	}
	var crds, templates []string
	definition := regexp.MustCompile(`(?m)^kind: CustomResourceDefinition$`)
	for _, document := range documents(string(text)) {
		if definition.MatchString(document) {
			crds = append(crds, document)
		} else {
			templates = append(templates, strings.ReplaceAll(document, "{{", `{{"{{"}}`))
		}
	}
	if err := os.RemoveAll(to.Chart()); err != nil {
		return err
	}
	return errors.Join(
		writeFiles(filepath.Join(to.Chart(), "crds"), crds),
		writeFiles(filepath.Join(to.Chart(), "templates"), templates),
		os.WriteFile(filepath.Join(to.Chart(), "Chart.yaml"), []byte("apiVersion: v2\nname: "+name+"\nversion: 1.0.0\n"), 0o644),
	)
}

// documents returns the documents of a stream that are not empty.
func documents(stream string) []string {
	var all []string
	var document strings.Builder
	for line := range strings.Lines(strings.TrimSuffix(stream, "\n") + "\n---\n") {
		switch {
		case line != "---\n":
			document.WriteString(line)
		case strings.TrimSpace(document.String()) != "":
			all = append(all, document.String())
			fallthrough
		default:
			document.Reset()
		}
	}
	return all
}

// mostBytes is the size of a file. Helm refuses files of more than 5 MiB.
const mostBytes = 4 << 20

// writeFiles writes documents to files of a new folder.
func writeFiles(folder string, documents []string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for number := 0; len(documents) > 0; number++ {
		size, count := 0, 0
		for count < len(documents) && (count == 0 || size+len(documents[count]) <= mostBytes) {
			size += len(documents[count]) + len("---\n")
			count++
		}
		text := strings.Join(documents[:count], "---\n")
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%03d.yaml", number)), []byte(text), 0o644); err != nil {
			return err
		}
		documents = documents[count:]
	}
	return nil
}
