package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// commandLine gives a process's arguments, its binary first; none for one that is gone, or is a zombie.
func commandLine(pid int) []string {
	if hasProc() {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return strings.FieldsFunc(string(text), func(r rune) bool { return r == 0 })
	}
	text, _ := exec.Command("ps", "-ww", "-o", "args=", "-p", strconv.Itoa(pid)).Output()
	return strings.Fields(string(text))
}

// strays finds the components that run for dir, with or without a pid file: someone may have removed the folder under
// them. Only binaries that `build` made count, since dir can be anything here.
func strays(dir string) ([]process, error) {
	pids, err := allPids()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	var found []process
	for _, pid := range pids {
		args := commandLine(pid)
		for _, name := range []string{etcd, apiServer, controllerManager, scheduler, kwok, podLogs, podPrograms} {
			p := process{name, pid}
			if len(args) > 0 && (name == podLogs || name == podPrograms || filepath.Dir(filepath.Dir(args[0])) == cache) && p.runs(dir) {
				found = append(found, p)
			}
		}
	}
	return found, nil
}

func allPids() ([]int, error) {
	if !hasProc() {
		text, err := exec.Command("ps", "-ax", "-o", "pid=").Output()
		return numbers(strings.Fields(string(text))), err
	}
	entries, err := os.ReadDir("/proc")
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return numbers(all), err
}

// numbers passes over other texts.
func numbers(texts []string) []int {
	var all []int
	for _, text := range texts {
		if n, err := strconv.Atoi(text); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// hasProc: Linux. Elsewhere ps knows the same, more slowly.
func hasProc() bool {
	_, err := os.Stat("/proc/self/cmdline")
	return err == nil
}
