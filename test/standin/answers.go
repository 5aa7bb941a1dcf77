package standin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// answer is the server of all Pods: it allows admission reviews, converts
// objects by setting the desired apiVersion, and serves API groups without
// kinds.
func (p *Pods) answer(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		discover(w, r)
		return
	}
	var kind metav1.TypeMeta
	var body json.RawMessage
	if json.NewDecoder(r.Body).Decode(&body) != nil || json.Unmarshal(body, &kind) != nil {
		http.Error(w, "the body is no JSON", http.StatusBadRequest)
		return
	}
	switch kind.Kind {
	case "AdmissionReview":
		p.calls.Add(1)
		admit(w, body, strings.Contains(r.URL.Path, "mutate"))
	case "ConversionReview":
		convert(w, body)
	default:
		http.Error(w, fmt.Sprintf("nothing here answers a %q", kind.Kind), http.StatusNotFound)
	}
}

// admit allows a request, with the defaults that the webhook would set.
// Versions v1 and v1beta1 of AdmissionReview have the same fields.
func admit(w http.ResponseWriter, body []byte, mutates bool) {
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil || review.Request == nil {
		http.Error(w, "the AdmissionReview holds no request", http.StatusBadRequest)
		return
	}
	response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	if patch := defaults(review.Request.Kind.Kind, review.Request.Object.Raw); mutates && patch != nil {
		jsonPatch := admissionv1.PatchTypeJSONPatch
		response.Patch, response.PatchType = patch, &jsonPatch
	}
	write(w, admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: response})
}

// defaults returns the JSON patch that a mutating webhook must apply so that an
// object satisfies its CRD; nil for most kinds.
func defaults(kind string, object []byte) []byte {
	if kind != "JobSet" {
		return nil
	}
	var jobSet struct {
		Spec struct {
			FailurePolicy struct {
				Rules []struct{ Name string }
			}
		}
	}
	if json.Unmarshal(object, &jobSet) != nil {
		return nil
	}
	// https://github.com/kubernetes-sigs/jobset/blob/main/pkg/webhooks/jobset_webhook.go
	// names rules without a name.
	patch := []map[string]string{}
	for i, rule := range jobSet.Spec.FailurePolicy.Rules {
		if rule.Name == "" {
			patch = append(patch, map[string]string{
				"op": "add", "path": fmt.Sprintf("/spec/failurePolicy/rules/%d/name", i), "value": fmt.Sprintf("failurePolicyRule%d", i),
			})
		}
	}
	if len(patch) == 0 {
		return nil
	}
	text, _ := json.Marshal(patch)
	return text
}

// conversionReview has the used fields of apiextensions.k8s.io/v1
// ConversionReview.
type conversionReview struct {
	metav1.TypeMeta `json:",inline"`
	Request         *conversionRequest  `json:"request,omitempty"`
	Response        *conversionResponse `json:"response,omitempty"`
}

type conversionRequest struct {
	UID               types.UID                   `json:"uid"`
	DesiredAPIVersion string                      `json:"desiredAPIVersion"`
	Objects           []unstructured.Unstructured `json:"objects"`
}

type conversionResponse struct {
	UID              types.UID                   `json:"uid"`
	ConvertedObjects []unstructured.Unstructured `json:"convertedObjects"`
	Result           metav1.Status               `json:"result"`
}

func convert(w http.ResponseWriter, body []byte) {
	var review conversionReview
	if err := json.Unmarshal(body, &review); err != nil || review.Request == nil {
		http.Error(w, "the ConversionReview holds no request", http.StatusBadRequest)
		return
	}
	for i := range review.Request.Objects {
		review.Request.Objects[i].SetAPIVersion(review.Request.DesiredAPIVersion)
	}
	write(w, conversionReview{TypeMeta: review.TypeMeta, Response: &conversionResponse{
		UID: review.Request.UID, ConvertedObjects: review.Request.Objects, Result: metav1.Status{Status: metav1.StatusSuccess},
	}})
}

// discover serves /apis/GROUP/VERSION, by which the API server checks that an
// aggregated API is available.
func discover(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) != 3 || parts[0] != "apis" {
		http.NotFound(w, r)
		return
	}
	write(w, metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"},
		GroupVersion: parts[1] + "/" + parts[2],
		APIResources: []metav1.APIResource{},
	})
}

func write(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}
