package provision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/platform/engine"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

const (
	truthLog  = "deployment/truth.jsonl"
	simConfig = "deployment/sim.json"
)

// simulated starts sim-engine on this host.
type simulated struct{}

func (simulated) deploy(ctx context.Context, d deployment) (started, error) {
	cfg := runplan.Sim{}
	if d.plan.Deployment.Engine.Sim != nil {
		cfg = *d.plan.Deployment.Engine.Sim
	}
	if err := durable.WriteJSON(filepath.Join(d.runDir, simConfig), cfg); err != nil {
		return started{}, err
	}
	argv, err := sibling(d.env, "sim-engine")
	if err != nil {
		return started{}, err
	}
	port, err := freePort()
	if err != nil {
		return started{}, err
	}
	argv = append(argv, "--host=127.0.0.1", "--port="+strconv.Itoa(port), "--config="+simConfig, "--truth-log="+truthLog,
		"--model="+d.plan.Deployment.Model.Name)
	argv = append(argv, d.plan.Deployment.Engine.Args...)
	srv, err := start(ctx, d, port, argv)
	srv.truthLog = truthLog
	return srv, err
}

// command starts any server command line on this host. $(port) and $(model) in it are replaced.
type command struct{}

func (command) deploy(ctx context.Context, d deployment) (started, error) {
	own := d.plan.Deployment.Engine
	if err := openArguments(d.plan, own.Command, own.Args); err != nil {
		return started{}, err
	}
	if len(own.Command) == 0 {
		return started{}, fmt.Errorf("starting engine command of %q: engine.command is empty", d.plan.Name)
	}
	port := own.Port
	argv := append(slices.Clone(own.Command), own.Args...)
	if port == 0 || strings.Contains(strings.Join(argv, " "), "$(port)") {
		var err error
		if port, err = freePort(); err != nil {
			return started{}, err
		}
	}
	replace := strings.NewReplacer("$(port)", strconv.Itoa(port), "$(model)", d.plan.Deployment.Model.Name)
	for i := range argv {
		argv[i] = replace.Replace(argv[i])
	}
	if path, err := exec.LookPath(argv[0]); err == nil {
		argv[0], _ = filepath.Abs(path)
	}
	return start(ctx, d, port, argv)
}

// openArguments returns an error where the command line of an engine has a credential in it.
func openArguments(plan *runplan.RunPlan, lists ...[]string) error {
	refs, err := runplan.ReferencesIn(lists)
	if err == nil && len(refs) > 0 {
		err = step.Usagef("starting engine %s of %q: its arguments contain a credential, which everybody on this machine "+
			"can read; pass it as a variable in runtime.env", plan.Deployment.Engine.Kind, plan.Name)
	}
	return err
}

// program starts an engine on this host as its kind says. Its program is looked up in PATH, unless engine.command names
// another, such as that of a virtual environment.
type program struct{ kind engine.Engine }

func (p program) deploy(ctx context.Context, d deployment) (started, error) {
	own := d.plan.Deployment.Engine
	if err := openArguments(d.plan, own.Command, d.plan.Deployment.Args, own.Args); err != nil {
		return started{}, err
	}
	port, err := freePort()
	if err != nil {
		return started{}, err
	}
	here := d.plan.Deployment
	here.ModelStorage = nil // it is a volume of a cluster
	line, err := p.kind.Program(&here, engine.Listener{Host: "127.0.0.1", Port: port})
	if err != nil {
		return started{}, err
	}
	argv := slices.Concat(line.Command, line.Args)
	if argv[0], err = exec.LookPath(argv[0]); err != nil {
		return started{}, fmt.Errorf("starting engine %s of %q: %w; install it, or set engine.command",
			p.kind.Kind, d.plan.Name, err)
	}
	if argv[0], err = filepath.Abs(argv[0]); err != nil {
		return started{}, fmt.Errorf("starting engine %s of %q: %w", p.kind.Kind, d.plan.Name, err)
	}
	return start(ctx, d, port, argv)
}

// start leaves a supervisor with the engine behind and returns once both are on record, or the engine has ended.
func start(ctx context.Context, d deployment, port int, argv []string) (started, error) {
	for _, old := range []string{contract.FileEngineExit, truthLog} {
		if err := os.Remove(filepath.Join(d.runDir, old)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return started{}, fmt.Errorf("clearing an earlier attempt: %w", err)
		}
	}
	self, err := sibling(d.env, "provision")
	if err != nil {
		return started{}, err
	}
	self = append(self, "hold", "--run-dir="+d.runDir, "--log="+contract.FileEngineLog, "--port="+strconv.Itoa(port))
	secrets, err := knownSecrets(d)
	if err != nil {
		return started{}, err
	}
	if len(secrets) > 0 {
		self = append(self, "--hide")
	}
	cmd := exec.Command(self[0], slices.Concat(self[1:], []string{"--"}, argv)...)
	var withheld []string
	if cmd.Env, withheld, err = engineEnv(d); err != nil {
		return started{}, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	lifeline, err := lifelineOf(d)
	if err != nil {
		return started{}, err
	}
	if lifeline != nil {
		defer lifeline.Close()
		cmd.ExtraFiles = []*os.File{lifeline} // becomes 3
		cmd.Env = append(cmd.Env, contract.EnvLifeline+"=3")
	}
	log, err := openLog(d.runDir, contract.FileEngineLog) // the supervisor says there why it could not start the engine
	if err != nil {
		return started{}, err
	}
	defer log.Close()
	if len(withheld) > 0 {
		fmt.Fprintf(log, "provision: the credentials %s of this environment are not passed to the engine\n",
			strings.Join(withheld, ", "))
	}
	cmd.Stderr = log
	if err := startKnowing(cmd, secrets); err != nil {
		return started{}, fmt.Errorf("starting the supervisor of the engine: %w", err)
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }() // until the supervisor ends, which outlives this process on purpose
	srv := started{url: "http://127.0.0.1:" + strconv.Itoa(port), deployed: true,
		alive: func() error { return ended(d.runDir) }}
	return srv, awaitRecord(ctx, d.runDir, gone)
}

// lifelineOf is a copy of the lifeline of this process, nil where it has none. A file made of the number itself would
// close it once it is garbage, and by then the number may be another file's.
func lifelineOf(d deployment) (*os.File, error) {
	fd, err := strconv.Atoi(d.env(contract.EnvLifeline))
	if err != nil {
		return nil, nil
	}
	copied, err := syscall.Dup(fd)
	if err != nil {
		return nil, fmt.Errorf("passing the lifeline to the supervisor: %w", err)
	}
	syscall.CloseOnExec(copied)
	return os.NewFile(uintptr(copied), "lifeline"), nil
}

// awaitRecord waits until the processes are on record: from then on teardown finds them.
func awaitRecord(ctx context.Context, runDir string, gone <-chan error) error {
	for {
		if _, err := os.Stat(filepath.Join(runDir, contract.FileProcesses)); err == nil {
			return nil
		}
		select {
		case err := <-gone:
			if dead := ended(runDir); dead != nil {
				return dead
			}
			return fmt.Errorf("starting the supervisor of the engine: it ended: %w", cmp.Or(err, errors.New("exit status 0")))
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// openLog opens a log of the run directory to append to, making its folder where it is missing.
func openLog(runDir, name string) (*os.File, error) {
	path := filepath.Join(runDir, name)
	if err := durable.MkdirAll(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("making folder of %q: %w", path, err)
	}
	f, err := durable.AppendGrowing(path)
	if err != nil {
		return nil, fmt.Errorf("opening the engine's log: %w", err)
	}
	return f, nil
}

// ended returns why the engine is no more, or nil while it runs.
func ended(runDir string) error {
	var exit exitRecord
	if err := step.ReadJSON(filepath.Join(runDir, contract.FileEngineExit), &exit); err != nil {
		return nil
	}
	msg := fmt.Sprintf("running the engine: it ended with %s", exit.Text)
	if line := step.LastLine(filepath.Join(runDir, contract.FileEngineLog)); line != "" {
		msg += "; its last line: " + line
	}
	return errors.New(msg + " (see " + contract.FileEngineLog + ")")
}

// sibling is how to run a binary of ours: the file beside this one, else bflow itself with its hidden step command.
func sibling(env func(string) string, name string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("looking for %q: %w", name, err)
	}
	if path := filepath.Join(filepath.Dir(self), name); executable(path) {
		return []string{path}, nil
	}
	if bflow := env(contract.EnvSelf); bflow != "" {
		return []string{bflow, "step", name}, nil
	}
	return nil, fmt.Errorf("looking for %q: it is not beside %q, and %s is not set", name, self, contract.EnvSelf)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// engineEnv is what a foreign program gets of the environment of this process, with the home of the person
// who runs bflow, and the plan's variables on top; and the names of what it does not get.
func engineEnv(d deployment) (env, withheld []string, err error) {
	env, withheld = step.Foreign(os.Environ())
	for name, host := range map[string]string{"HOME": contract.EnvHostHome, "TMPDIR": contract.EnvHostTmp} {
		if value := d.env(host); value != "" {
			env = append(env, name+"="+value)
		}
	}
	own, err := runplan.FillEnv(d.plan.Deployment.Env, d.secrets.Find)
	for k, v := range own {
		env = append(env, k+"="+v)
	}
	return env, withheld, err
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("looking for a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
