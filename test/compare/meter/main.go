// Command meter runs a command, with its output in a file, and prints its cost as JSON. It
// is small, because Linux counts the memory of the process that starts a command as the
// command's own. A command that takes too long is killed.
//
//	meter 2m output.txt COMMAND ARGUMENT...
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/ordapply/ordapply/test/measure"
)

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run returns an error, which is also the last line of the output, if the command fails.
func run(limit, output string, command []string) error {
	most, err := time.ParseDuration(limit)
	if err != nil {
		return err
	}
	file, err := os.Create(output)
	if err != nil {
		return err
	}
	defer file.Close()
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, file, file
	cost, err := measure.Process(cmd)
	if ctx.Err() != nil {
		err = fmt.Errorf("over %s", most)
		fmt.Fprintln(file, err)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(cost)
}
