package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"bflow.dev/bflow/bench/rig"
	"bflow.dev/bflow/bench/truth"
	"bflow.dev/bflow/report"
)

// lab runs scenes.
type lab struct {
	ctx   context.Context
	dir   string
	bins  rig.Binaries
	cores rig.Cores
	log   io.Writer
	self  string
}

func newLab(ctx context.Context, log io.Writer) (*lab, error) {
	l := &lab{ctx: ctx, log: log}
	var err error
	if l.self, err = os.Executable(); err != nil {
		return nil, fmt.Errorf("looking for the own program: %w", err)
	}
	if l.dir, err = os.MkdirTemp("", "bflow-validity"); err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	if l.cores, err = rig.PickCores(); err == nil {
		l.bins, err = rig.Build(ctx, filepath.Join(l.dir, "bin"))
	}
	if err == nil {
		err = l.makeCertificate()
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *lab) close() { _ = os.RemoveAll(l.dir) }

func (l *lab) file(name string) string { return filepath.Join(l.dir, name) }

// makeCertificate makes one of the engine's.
func (l *lab) makeCertificate() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 0, 2),
		DNSNames: []string{"localhost"},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return fmt.Errorf("making a certificate: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("writing a key: %w", err)
	}
	return errors.Join(
		os.WriteFile(l.file("cert.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600),
		os.WriteFile(l.file("key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
}

// try runs a scene. What makes it say nothing is in the result; an error ends the measurement.
func (l *lab) try(s scene) (result, error) {
	r := result{Scene: s}
	dir := l.file(strconv.Itoa(s.Index))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return r, fmt.Errorf("making the folder of a scene: %w", err)
	}
	defer os.RemoveAll(dir)
	o := rig.EngineOptions{Binary: l.bins.Engine, Dir: dir, Core: l.cores.Server, Sim: s.sim()}
	if s.Clock == clockTLS {
		o.Args = []string{"--tls-cert", l.file("cert.pem"), "--tls-key", l.file("key.pem")}
	}
	e, err := rig.StartEngine(l.ctx, o)
	if err != nil {
		return r, err
	}
	load, packets, err := l.load(s, dir, e)
	_, serr := e.Stop()
	if err = errors.Join(err, serr); err == nil {
		err = r.judge(load, packets, e.Truth)
	}
	if l.ctx.Err() != nil {
		return r, l.ctx.Err()
	}
	if err != nil {
		r.Void = err.Error()
	}
	fmt.Fprintf(l.log, "%s: wrong %v, right %v, flagged %v %s %s\n", s, r.Void == "" && r.wrong(), r.Void == "" &&
		r.right(), r.Flagged, r.Why, r.Void)
	return r, nil
}

// load puts the load of a scene on e beside what keeps the processors busy, and captures its packets.
func (l *lab) load(s scene, dir string, e *rig.Engine) (rig.LoadGenRun, map[int64][]packet, error) {
	u, err := url.Parse(e.URL)
	if err != nil {
		return rig.LoadGenRun{}, nil, fmt.Errorf("reading the address of the engine: %w", err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return rig.LoadGenRun{}, nil, fmt.Errorf("reading the port of the engine: %w", err)
	}
	stop, err := l.busy(s)
	if err != nil {
		return rig.LoadGenRun{}, nil, err
	}
	defer stop()
	c, err := startCapture(port)
	if err != nil {
		return rig.LoadGenRun{}, nil, err
	}
	core := rig.Anywhere
	if s.Pinned {
		core = l.cores.Client
	}
	args := []string{"--clock", clockKernel}
	if s.Clock == clockUser {
		args[1] = clockUser
	}
	run, err := rig.RunLoadGen(l.ctx, rig.LoadGenOptions{
		Binary: l.bins.LoadGen, Dir: dir, Core: core, Endpoint: e.URL, Plan: s.plan(), Args: args,
	})
	packets, cerr := c.end()
	return run, packets, errors.Join(err, cerr)
}

// busy starts what keeps processors busy, on the core of load-gen where that has one. They end with their standard
// input.
func (l *lab) busy(s scene) (stop func(), err error) {
	var all []*exec.Cmd
	var pipes []io.Closer
	stop = func() {
		for i, p := range pipes {
			_ = p.Close()
			_ = all[i].Wait()
		}
	}
	for range s.Busy {
		args := []string{l.self, "-busy"}
		if s.Pinned {
			args = append([]string{"taskset", "-c", strconv.Itoa(l.cores.Client)}, args...)
		}
		cmd := exec.CommandContext(l.ctx, args[0], args[1:]...)
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			stop()
			return nil, fmt.Errorf("starting a busy process: %w", err)
		}
		all, pipes = append(all, cmd), append(pipes, in)
	}
	return stop, nil
}

// judge compares what load-gen says with the packets.
func (r *result) judge(load rig.LoadGenRun, packets map[int64][]packet, log string) error {
	records, err := truth.ReadLog(log)
	if err != nil {
		return err
	}
	header, rows, err := report.ReadRows(load.Rows)
	if err != nil {
		return err
	}
	pairs, _, err := truth.Join(rows, records)
	if err != nil {
		return err
	}
	if len(load.Stages) != 1 {
		return fmt.Errorf("%d stages were measured, want one", len(load.Stages))
	}
	stage := &load.Stages[0]
	pairs = truth.Measured(pairs)
	if len(pairs) == 0 {
		return errors.New("no request was measured")
	}
	numbers, err := realOf(pairs, packets, stage, header.AnchorUnixNS)
	if err == nil {
		r.compare(stage, numbers)
	}
	return err
}
