// Package helmreferee contains tests that compare how ordapply and Helm run
// hooks: `helm install` and similar commands on one control plane, `helm
// template CHART | ordapply` on another, and the audit logs of both API
// servers.
//
// Each testdata/*.txtar is a chart with steps and, as recorded from Helm, the
// creates and deletes of each step.
package helmreferee
