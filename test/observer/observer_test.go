package observer

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

func TestAWebhookIsReadyWithItsCABundle(t *testing.T) {
	configurations := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
	for text, ready := range map[string]bool{
		`{}`: true,
		`webhooks: [{clientConfig: {url: https://example.com}}]`:                                                 true,
		`webhooks: [{clientConfig: {service: {name: a}}}]`:                                                       false,
		`webhooks: [{clientConfig: {service: {name: a}, caBundle: Cg==}}]`:                                       true,
		`webhooks: [{clientConfig: {service: {name: a}, caBundle: Cg==}}, {clientConfig: {service: {name: b}}}]`: false,
	} {
		var u unstructured.Unstructured
		require.NoError(t, yaml.Unmarshal([]byte(text), &u.Object))
		assert.Equal(t, ready, isReady(configurations, &u), text)
	}
	assert.True(t, Judged(configurations.Group, configurations.Resource), "StartAll watches them")
}
