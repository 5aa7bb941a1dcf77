package health_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
)

// The examples of docs/health.md are tests: a rules file or argocd-cm applies
// to the objects after it, and the text after an object is its assessment.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "health.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```(yaml|text)\n(.*?)```").FindAllSubmatch(page, -1)
	var assessor health.Assessor
	var output string
	var objects, answers int
	for _, block := range blocks {
		text := string(block[2])
		if string(block[1]) == "text" {
			require.Equal(t, text, output)
			answers++
			continue
		}
		switch obj := parse(t, text); obj.GetKind() {
		case "HealthRules":
			assessor.Rules, err = health.ParseRules([]byte(text))
		case "ConfigMap":
			data, _, _ := unstructured.NestedStringMap(obj.Object, "data")
			assessor.ArgoCD, err = health.ParseArgoCD(data)
		default:
			a := assessor.Assess(obj)
			output = fmt.Sprintf("%s  %s (%s)\n", a.Verdict, a.Reason, a.Rule)
			objects++
		}
		require.NoError(t, err, text)
	}
	require.Equal(t, objects, answers, "each object is followed by what is output of it")
	require.Greater(t, objects, 7)
}

// The page names every flag and annotation for users.
func TestDocumentationIsComplete(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "health.md"))
	require.NoError(t, err)
	for _, word := range []string{
		"ordapply.dev/ready-when", "failed-when", "helm.sh/readiness-success", "--health-rules", "--argocd-cm",
		"--argocd-health", "degradedWhen", "--strict-readiness", "readyWhen", "failedWhen", "source", "useOpenLibs",
	} {
		require.True(t, strings.Contains(string(page), word), word)
	}
}
