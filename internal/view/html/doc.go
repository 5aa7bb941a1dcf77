// Package htmlreport makes one page of a run: when each resource was applied and ready,
// what the run waited for longest, what failed and why. The page has no links to anything
// outside it, and needs no network.
//
//	run, err := htmlreport.Read(eventLines) // the output of `ordapply apply -o json`
//	err = htmlreport.Write(file, run)
package html
