package main

import (
	"bufio"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ordapply/ordapply/test/appliers"
	"github.com/ordapply/ordapply/test/auditlog"
	"github.com/ordapply/ordapply/test/measure"
	"github.com/ordapply/ordapply/test/testcluster"
)

// lab measures processes, one after the other.
type lab struct {
	dir      string
	programs map[string]string // paths, by the first word of a command
	progress io.Writer
	stop     chan os.Signal       // ends the run at the next command
	targets  int                  // so far
	running  *testcluster.Cluster // nil: none
	// Of the running control plane:
	flags string                   // with which it was started
	warm  map[string]bool          // peers that have used it, with the delay
	roads map[time.Duration]string // kubeconfigs, by the delay that they add
	stops []func()                 // of the proxies
}

// openLab finds the programs that are measured, and builds the small ones.
func openLab(dir string, progress io.Writer) (*lab, error) {
	l := &lab{dir: dir, programs: map[string]string{}, progress: progress, stop: make(chan os.Signal, 1)}
	signal.Notify(l.stop, os.Interrupt, syscall.SIGTERM)
	errs := []error{l.build("meter", ".", "./test/compare/meter"), l.build("floor", ".", "./test/bench/bare")}
	for _, name := range []string{"ordapply", "sortorder", "localcluster", "kustomize"} {
		path, err := testcluster.Find(name)
		l.programs[name] = path
		errs = append(errs, err)
	}
	for _, a := range appliers.All() {
		path, err := a.Find()
		if err == nil {
			l.programs[a.Name] = path
		} else if a.File == "" { // the peers of the others are left out where they are not built
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("find the programs, which make compare builds: %w", err)
	}
	return l, nil
}

// build builds a program of this repository in the folder of its module, once.
func (l *lab) build(name, module, pkg string) error {
	if l.programs[name] != "" {
		return nil
	}
	path := filepath.Join(l.dir, name)
	cmd := exec.Command("go", "build", "-o", path, pkg)
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %s", pkg, out)
	}
	l.programs[name] = path
	return nil
}

// present returns the peers whose programs are built.
func (l *lab) present(peers []peer) []peer {
	return slices.DeleteFunc(slices.Clone(peers), func(p peer) bool { return l.programs[p.program] == "" })
}

// modules are the modules that contain the programs.
func modules() map[string]string {
	return map[string]string{"kubectl": "k8s.io/kubernetes", "kapp": "carvel.dev/kapp", "kapply": "sigs.k8s.io/cli-utils", "helm": "helm.sh/helm/v4", "kustomize": "sigs.k8s.io/kustomize/kustomize/v5"}
}

// version returns the version of a program's module that the Go linker wrote into it; "" for
// the programs of this repository.
func (l *lab) version(program string) (string, error) {
	if l.programs[program] == "" {
		return leftOut, nil
	}
	info, err := buildinfo.ReadFile(l.programs[program])
	if err != nil {
		return "", err
	}
	for _, module := range append(info.Deps, &info.Main) {
		if module.Path == modules()[program] {
			return module.Version, nil
		}
	}
	return "", nil
}

// fullLog is the size of an audit log, in bytes, after which a control plane is replaced.
const fullLog = 300 << 20

// up makes sure that a control plane with these flags runs: a new one if the old one's audit
// log is full.
func (l *lab) up(flags ...string) error {
	if l.running != nil {
		size, err := l.logSize()
		if err != nil {
			return err
		}
		if size < fullLog && l.flags == strings.Join(flags, " ") {
			return nil
		}
		if err := l.close(); err != nil {
			return err
		}
	}
	cluster, err := testcluster.Up(l.programs["localcluster"], filepath.Join(l.dir, "cluster"), io.Discard, flags...)
	if err != nil {
		return err
	}
	l.running, l.flags = cluster, strings.Join(flags, " ")
	l.warm, l.roads = map[string]bool{}, map[time.Duration]string{0: cluster.Kubeconfig}
	return nil
}

// close stops the control plane.
func (l *lab) close() error {
	for _, stop := range l.stops {
		stop()
	}
	cluster := l.running
	l.stops, l.running = nil, nil
	if cluster == nil {
		return nil
	}
	return cluster.Down()
}

// target creates a namespace of the running control plane and a folder.
func (l *lab) target(delay time.Duration) (target, error) {
	l.targets++
	namespace := fmt.Sprintf("bench-%d", l.targets)
	if out, err := l.running.TryKubectl("create", "namespace", namespace); err != nil {
		return target{}, errors.New(out)
	}
	if _, known := l.roads[delay]; !known {
		road, stop, err := distant(l.running.Kubeconfig, l.dir, delay)
		if err != nil {
			return target{}, err
		}
		l.roads[delay], l.stops = road, append(l.stops, stop)
	}
	t := target{Kubeconfig: l.roads[delay], Namespace: namespace, Dir: filepath.Join(l.dir, namespace)}
	return t, os.MkdirAll(t.Dir, 0o755)
}

// remove removes the files of a target.
func remove(t target) {
	_ = os.RemoveAll(t.Dir)
	_ = os.RemoveAll(t.Chart())
}

// untilLogged is the time after which the audit log has the line of a request that was answered.
const untilLogged = 50 * time.Millisecond

// collectGarbage makes the API server collect its garbage, which takes up to a second of CPU: else
// one command pays for what those before it left, and the next does not.
func (l *lab) collectGarbage() error {
	if out, err := l.running.TryKubectl("get", "--raw", "/debug/pprof/heap?gc=1"); err != nil {
		return fmt.Errorf("collect the garbage of the API server: %w\n%s", err, out)
	}
	time.Sleep(untilLogged)
	return nil
}

func (l *lab) logSize() (int64, error) {
	info, err := os.Stat(l.running.AuditLog())
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

const (
	// patience is the time after which a command is killed.
	patience = 4 * time.Minute
	// enough is the time after which a command is not measured again: what it took in all
	// rounds together. So slow peers do not decide how long a run is.
	enough = time.Minute
)

// run measures a command whose first word names a program. The error of a command is in the
// sample; others are returned.
func (l *lab) run(command []string, stdin string) (Sample, error) {
	output := filepath.Join(l.dir, "output")
	cmd := exec.Command(l.programs["meter"], patience.String(), output)
	for i, word := range command {
		if path := l.programs[word]; path != "" && (i == 0 || command[0] == "sh") { // a script gets programs as arguments
			word = path
		}
		cmd.Args = append(cmd.Args, word)
	}
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(l.dir, "home")) // the caches of the programs
	if stdin != "" {
		file, err := os.Open(stdin)
		if err != nil {
			return Sample{}, err
		}
		defer file.Close()
		cmd.Stdin = file
	}
	var from int64
	var err error
	if l.running != nil {
		if err := l.collectGarbage(); err != nil {
			return Sample{}, err
		}
		if from, err = l.logSize(); err != nil {
			return Sample{}, err
		}
	}
	out, err := cmd.Output()
	select {
	case s := <-l.stop: // which may have ended the command too
		return Sample{}, fmt.Errorf("stopped: %s", s)
	default:
	}
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return Sample{Failed: lastLine(output)}, nil
	}
	var cost measure.Cost
	if err == nil {
		err = json.Unmarshal(out, &cost)
	}
	s := Sample{Wall: cost.Wall, CPU: cost.CPU, Peak: cost.Peak}
	if err == nil && l.running != nil {
		time.Sleep(untilLogged)
		s.Requests, err = auditlog.Count(l.running.AuditLog(), from, "admin")
	}
	return s, err
}

// lastLine returns the last line of a file that is not empty, shortened.
func lastLine(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	last := "no output"
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if text := strings.TrimSpace(lines.Text()); text != "" {
			last = text
		}
	}
	if len(last) > 200 {
		last = last[:200] + "…"
	}
	return last
}

// log prints a line of progress.
func (l *lab) log(format string, args ...any) {
	fmt.Fprintf(l.progress, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}
