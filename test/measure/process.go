package measure

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Cost is the cost of a process and of the processes that it waited for.
type Cost struct {
	Wall float64 `json:"wall"` // seconds from its start to its end
	CPU  float64 `json:"cpu"`  // seconds, of user and system
	Peak float64 `json:"peak"` // largest resident memory of a process, in MiB
}

// Process runs a command to its end. Linux counts the memory of the calling process before
// it executes the command as the command's own, so the caller must be small.
func Process(cmd *exec.Cmd) (Cost, error) {
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if cmd.ProcessState == nil {
		return Cost{}, err
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return Cost{wall.Seconds(), cpu.Seconds(), Peak(cmd.ProcessState)}, err
}

// Peak returns the largest resident memory of a process that has ended, in MiB.
func Peak(state *os.ProcessState) float64 {
	peak := float64(state.SysUsage().(*syscall.Rusage).Maxrss)
	if runtime.GOOS == "darwin" { // bytes there
		peak /= 1024
	}
	return peak / 1024
}
