package local

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// launcher starts processes that die with this one, even by kill -9. The kernel ties that death signal to the thread
// that forked, not to the process, so one thread, locked to one goroutine, forks them all and lives until close.
type launcher struct {
	requests chan launch
	ended    chan struct{}
	once     sync.Once
	forking  sync.WaitGroup
}

type launch struct {
	cmd    *exec.Cmd
	result chan error
}

func newLauncher() *launcher {
	l := &launcher{requests: make(chan launch), ended: make(chan struct{})}
	l.forking.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for {
			select {
			case r := <-l.requests:
				r.result <- r.cmd.Start()
			case <-l.ended:
				return
			}
		}
	})
	return l
}

// start starts cmd in a process group of its own.
func (l *launcher) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	result := make(chan error, 1)
	select {
	case l.requests <- launch{cmd, result}:
		return <-result
	case <-l.ended:
		return errors.New("the executor has ended")
	}
}

// close ends the thread, and with it every process of start that still runs.
func (l *launcher) close() {
	l.once.Do(func() { close(l.ended) })
	l.forking.Wait()
}
