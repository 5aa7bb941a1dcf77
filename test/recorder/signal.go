package recorder

import (
	"os"
	"os/exec"
)

// RunSignalled runs a command through the proxy, and sends it a signal at each matching
// request, which is still forwarded. It returns the error of the command.
func (p *Proxy) RunSignalled(cmd *exec.Cmd, signal os.Signal, fits func(*Request) bool) error {
	started := make(chan struct{})
	p.Inject(func(r *Request) Fault {
		if fits(r) {
			<-started
			_ = cmd.Process.Signal(signal)
		}
		return nil
	})
	if err := cmd.Start(); err != nil {
		return err
	}
	close(started)
	return cmd.Wait()
}
