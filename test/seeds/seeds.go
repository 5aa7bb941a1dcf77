// Package seeds says how many random cases a property test tries: all of them in `make
// test`, a tenth with -short, in `make test-fast`.
//
//	for seed := range seeds.UpTo(2000) {
package seeds

import "testing"

// UpTo returns n, or a tenth of it with -short.
func UpTo(n uint64) uint64 {
	if testing.Short() {
		return n / 10
	}
	return n
}
