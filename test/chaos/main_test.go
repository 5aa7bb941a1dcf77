// Package chaos tries whole commands on control planes that go wrong: commands are killed,
// suspended and raced at their requests, the API server restarts and its storage stops.
package chaos

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/ordapply/ordapply/test/testcluster"
)

// shared is the control plane of tests that need none of their own, and steady that of tests
// which count requests: its kinds do not change, since the number depends on them.
var shared, steady testcluster.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	if err := errors.Join(shared.Down(), steady.Down()); err != nil {
		fmt.Fprintln(os.Stderr, "take the shared clusters down:", err)
		code = 1
	}
	os.Exit(code)
}
