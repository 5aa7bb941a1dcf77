// Package helmreferee holds the tests that compare hooks as ordapply runs them with
// Helm itself: `helm install` and its like on one control plane, `helm template CHART |
// ordapply` on another, and what both API servers wrote down.
//
// Each testdata/*.txtar is a chart with the steps that are taken with it, and, as
// recorded from Helm, the creates and deletes of each step.
package helmreferee
