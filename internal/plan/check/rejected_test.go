package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/plan/check"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/plancase"
)

const storeCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: stores.shop.example}
spec:
  group: shop.example
  scope: Namespaced
  names: {kind: Store, plural: stores}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [provider, size]
            properties:
              provider: {type: object, maxProperties: 1, additionalProperties: {type: object}}
              size: {type: integer, minimum: 1, maximum: 5, default: 1}
              tier: {type: string, enum: [free, paid], nullable: true}
              code: {type: string, pattern: "^[a-z]+$", maxLength: 3}
              port: {x-kubernetes-int-or-string: true}
              tags: {type: array, maxItems: 1, items: {type: object, properties: {hot: {type: boolean}}}}
              any: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, properties: {ready: {type: boolean}}}
`

// Errors that no default and no additional field can fix are reported. Missing
// fields may be defaulted.
func TestCustomResourcesThatTheirCRDRefuses(t *testing.T) {
	for name, c := range map[string]struct{ spec, want string }{
		"fits":             {"spec: {provider: {aws: {}}, size: 5, tier: free, code: abc, port: http, tags: [{hot: true}], any: {x: [1]}}", ""},
		"fields missing":   {"spec: {}", ""},
		"null":             {"spec: {tier: null, provider: {aws: {}, gcp: null}}", ""},
		"unknown field":    {"spec: {colour: 1}", "spec.colour is not declared in its schema"},
		"unknown in lists": {"spec: {tags: [{cold: 1}]}", "spec.tags[0].cold is not declared in its schema"},
		"unknown and null": {"spec: {colour: null}", ""},
		"unknown at top":   {"extra: {}", "extra is not declared in its schema"},
		"preserved":        {"spec: {any: {x: {y: 1}}, provider: {aws: {z: 1}}}", ""},
		"status":           {"status: {ready: maybe}", ""},
		"int or string":    {"spec: {port: 80}", ""},
		"whole as float":   {"spec: {size: 2.0}", ""},
		"too many fields":  {"spec: {provider: {aws: {}, gcp: {}}}", "spec.provider has 2 fields, more than the maximum of 1"},
		"not of the type":  {"spec: {size: many}", "spec.size must be of type integer"},
		"not whole":        {"spec: {size: 1.5}", "spec.size must be of type integer"},
		"no object":        {"spec: text", "spec must be of type object"},
		"value not listed": {"spec: {tier: secret-value}", `spec.tier must be one of "free", "paid"`},
		"pattern, length":  {"spec: {code: ABCD}", "spec.code has 4 characters, more than the maximum of 3; spec.code must match ^[a-z]+$"},
		"too large":        {"spec: {size: 6}", "spec.size must be at most 5"},
		"too small":        {"spec: {size: 0}", "spec.size must be at least 1"},
		"inside lists":     {"spec: {tags: [{hot: 1}, {}]}", "spec.tags has 2 items, more than the maximum of 1; spec.tags[0].hot must be of type boolean"},
		"inside maps":      {"spec: {provider: {aws: eu}}", "spec.provider.aws must be of type object"},
	} {
		t.Run(name, func(t *testing.T) {
			store := plancase.Parse(t, []byte("apiVersion: shop.example/v1\nkind: Store\nmetadata: {name: a, namespace: shop, labels: 7}\n"+c.spec))[0]
			unfit := rejected([]ordering.Resource{plancase.Parse(t, []byte(storeCRD))[0], store})
			if c.want == "" {
				require.Empty(t, unfit)
				return
			}
			require.EqualError(t, unfit[store.ID], "CustomResourceDefinition stores.shop.example rejects it: "+c.want+": correct the manifest")
		})
	}
}

// A mutating webhook of the stream may fix any custom resource that it
// intercepts.
func TestWebhooksMayMakeCustomResourcesFit(t *testing.T) {
	store := plancase.Parse(t, []byte("apiVersion: shop.example/v1\nkind: Store\nmetadata: {name: a, namespace: shop}\nspec: {size: 9}"))[0]
	hook := func(kind, resource string) ordering.Resource {
		return plancase.Parse(t, []byte("apiVersion: admissionregistration.k8s.io/v1\nkind: "+kind+`
metadata: {name: hook}
webhooks:
- name: hook.shop.example
  clientConfig: {service: {namespace: shop, name: hook}}
  rules: [{apiGroups: [shop.example], apiVersions: [v1], operations: [CREATE], resources: [`+resource+`]}]
`))[0]
	}
	require.Empty(t, rejected([]ordering.Resource{plancase.Parse(t, []byte(storeCRD))[0], store, hook("MutatingWebhookConfiguration", "stores")}))
	require.Len(t, rejected([]ordering.Resource{plancase.Parse(t, []byte(storeCRD))[0], store, hook("MutatingWebhookConfiguration", "others")}), 1)
	require.Len(t, rejected([]ordering.Resource{plancase.Parse(t, []byte(storeCRD))[0], store, hook("ValidatingWebhookConfiguration", "stores")}), 1)
}

func rejected(resources []ordering.Resource) map[object.ID]error {
	return check.Rejected(references.NewIndex(resources, nil))
}
