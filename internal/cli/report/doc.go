// Package report reports a run: as lines or as a live view on standard error, as results
// or JSON lines on standard output, and as metrics in a file.
//
//	outputs := report.OpenOutputs(console)
//	reporters := outputs.Report(ctx, console, target, plan, files, report.Options{Output: "text"})
//	reporters.Begin()
//	reporters.Event(event)
//	reporters.End(outcome)
//
// It also turns the result of a run into an exit code and into the outcome that is
// reported:
//
//	err = report.WithTimeout(summary, report.WithInterrupt(ctx, err))
//	os.Exit(report.ExitCode(err))
package report
