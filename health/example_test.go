package health_test

import (
	"fmt"
	"log"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/health"
)

// live parses an object as `kubectl get -o yaml` prints it.
func live(text string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		log.Fatal(err)
	}
	return obj
}

// The verdict decides whether to go on. The reason is the object's report, and
// the rule says how it was read.
func ExampleAssess() {
	certificate := live(`
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: web, namespace: shop, generation: 1}
status:
  conditions:
  - {type: Ready, status: "False", reason: DoesNotExist, message: Issuing certificate as Secret does not exist, observedGeneration: 1}
`)
	a := health.Assess(certificate)
	fmt.Println(a.Verdict, a.Grade())
	fmt.Println(a.Reason)
	fmt.Println(a.Rule)
	// Output:
	// progressing Progressing
	// condition Ready is False (DoesNotExist): Issuing certificate as Secret does not exist (not yet readyWhen)
	// rule cert-manager.io/Certificate
}

// An Assessor adds rules of your own. Its Strict field turns off assumptions
// about objects whose status says nothing.
func ExampleAssessor() {
	rules, err := health.ParseRules([]byte(`
apiVersion: ordapply.dev/v1alpha1
kind: HealthRules
rules:
- group: shop.example.com
  kind: Store
  readyWhen: self.status.shelves >= self.spec.shelves
  degradedWhen: self.status.debts > 1000
`))
	if err != nil {
		log.Fatal(err)
	}
	assessor := &health.Assessor{Rules: rules}
	for _, status := range []string{"{shelves: 7, debts: 0}", "{shelves: 10, debts: 0}", "{shelves: 10, debts: 5000}"} {
		a := assessor.Assess(live("{apiVersion: shop.example.com/v1, kind: Store, metadata: {name: main}, spec: {shelves: 10}, status: " + status + "}"))
		fmt.Println(a.Verdict, a.Grade())
	}
	// Output:
	// progressing Progressing
	// ready Healthy
	// failed Degraded
}

// A controller that has not written a status yet gets some time. After that the
// object counts as ready, by assumption.
func ExampleAssessor_AfterGrace() {
	widget := live("{apiVersion: example.com/v1, kind: Widget, metadata: {name: one}}")
	assessor := &health.Assessor{}
	a := assessor.Assess(widget)
	fmt.Println(a.Verdict, a.NeedsGrace())
	a = assessor.AfterGrace(a)
	fmt.Println(a.Verdict, a.Assumed)
	// Output:
	// progressing true
	// ready true
}

// The health of an application is its worst part's.
func ExampleAggregate() {
	fmt.Println(health.Aggregate(health.GradeHealthy, health.GradeMissing, health.GradeProgressing))
	fmt.Println(health.Aggregate())
	// Output:
	// Degraded
	// Healthy
}

// Mistakes in the readiness annotations of an object are found before it is applied.
func ExampleAssessor_Check() {
	job := live(`
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {ordapply.dev/ready-when: self.status.succeeded = 1, helm.sh/readiness-success: "{.succeeded} == 1"}
`)
	fmt.Println((&health.Assessor{}).Check(job))
	// Output:
	// annotation ordapply.dev/ready-when: "self.status.succeeded = 1" is not a CEL expression: 1:23: Syntax error: token recognition error at: '= '
	// annotation helm.sh/readiness-success has no effect without helm.sh/readiness-failure (HIP-0025): add it
}
