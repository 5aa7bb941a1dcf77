// Package html makes one page of a run: when each resource was applied and ready, its
// longest waits, and its failures with the reasons. The page has no links to anything
// outside it, and needs no network.
//
//	run, err := html.Read(eventLines) // the output of `ordapply apply -o json`
//	err = html.Write(file, run)
package html
