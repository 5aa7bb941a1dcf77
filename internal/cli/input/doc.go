// Package input leads from flags to a stream and its plan.
//
// It builds the stream and the plan that the flags of a command ask for,
// and collects everything that is wrong with them into one error.
//
//	inputs, options, err := source.ReadAll(ctx, console, scope)
//	stream, plan, err := source.PlanStream(inputs, target.Scope, &options, target)
//
// It also reads the files that order a stream: the file of --order, with a
// SortOrder, stacks or both, and the Chart.yaml of Helm charts.
//
//	file, err := input.ReadOrder(ctx, console, "order.yaml")
//	options.Stacks = file.Stacks
//
// It also reads the manifests that -f and -k name: files, folders, URLs, standard
// input and kustomizations, stamped with --order.
//
//	source := input.Source{Manifests: option.Manifests{Files: []string{"app.yaml"}}}
//	inputs, err := source.Read(ctx, console)
//
// It also reads the files with rules of health that flags name: HealthRules
// in CEL, and Argo CD's health checks in Lua.
//
//	assessor, err := input.Assessor(ctx, console, option.Health{Rules: "rules.yaml"})
package input
