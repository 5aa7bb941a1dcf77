// Package smallmemory runs tests in a process that may not use much memory, so that input
// which makes the program allocate without a limit fails its test and not the machine:
//
//	func TestLaughs(t *testing.T) {
//		if !smallmemory.Within(t, 2048) {
//			return // the test ran in a process of its own
//		}
//		_, err := manifest.Read("in", strings.NewReader(laughs))
package smallmemory

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// inside is set in the process of a test.
const inside = "ORDAPPLY_TEST_SMALL_MEMORY"

// tooLong is the duration after which a process is killed, in a machine of any speed.
const tooLong = 10 * time.Minute

// Within runs the calling test again in a process with at most mib MiB of address space, of
// which an idle Go program takes about 1,300, and fails if that fails; it then returns
// false. In that process it returns true. It skips the test where there is no sh, and with
// the race detector, which reserves more than any limit.
func Within(t *testing.T, mib int) bool {
	t.Helper()
	if os.Getenv(inside) != "" {
		return true
	}
	shell, err := exec.LookPath("sh")
	switch {
	case err != nil || runtime.GOOS != "linux":
		t.Skip("needs sh and ulimit -v of Linux, to limit the memory of a process")
	case raceDetector:
		t.Skip("the race detector reserves more memory than ulimit -v allows")
	}
	ctx, cancel := context.WithTimeout(t.Context(), tooLong)
	defer cancel()
	limited := exec.CommandContext(ctx, shell, "-c", `ulimit -v "$1" && shift && exec "$@"`, "sh", strconv.Itoa(mib<<10), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	limited.Env = append(os.Environ(), inside+"=1")
	out, err := limited.CombinedOutput()
	require.NoError(t, err, "in a process with %d MiB:\n%s", mib, out[:min(len(out), 4<<10)])
	return false
}
