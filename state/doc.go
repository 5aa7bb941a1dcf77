// Package state keeps what must be remembered between runs: the apply set
// (KEP-3659) that a stream belongs to, who may change it now, and the revisions
// that it had. Package applyset decides; this package reads and writes.
package state
