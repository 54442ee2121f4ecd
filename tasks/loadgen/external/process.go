package external

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/outbound"
	"bflow.dev/bflow/tasks/step"
)

// LogFile in the measurement directory gets what the tool prints.
const LogFile = "external.log"

// process is one run of a tool.
type process struct {
	tool.Command
	dir     string   // Invocation.Dir
	log     *os.File // standard output and error
	env     []string
	holder  []string
	secrets []string
}

// run writes the files, runs the tool to its end and takes the secrets away again. The error of a tool that failed ends
// with the last line that it said.
func (p process) run(ctx context.Context) error {
	if err := durable.MkdirAll(p.dir); err != nil {
		return fmt.Errorf("making the folder of the tool: %w", err)
	}
	defer p.hide()
	for _, f := range p.Files {
		mode := os.FileMode(0o644)
		if f.Secret {
			mode = 0o600
		}
		if err := os.WriteFile(filepath.Join(p.dir, f.Name), f.Data, mode); err != nil {
			return fmt.Errorf("writing the input of the tool: %w", err)
		}
	}
	if p.Fetch != nil {
		if err := p.fetch(ctx); err != nil {
			return err
		}
	}
	return p.execute(ctx)
}

// execute starts the supervisor, which starts the tool, and waits. The end of ctx ends the tool.
func (p process) execute(ctx context.Context) error {
	argv := slices.Concat(p.holder, p.Argv)
	cmd := exec.Command(argv[0], argv[1:]...)
	var said strings.Builder // by the supervisor
	cmd.Dir, cmd.Env = p.dir, append(slices.Clone(p.env), p.Env...)
	cmd.Stdout, cmd.Stderr = p.log, &said
	// A session of its own: what ends load-gen's group must not end who ends the tool's.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("starting %q: %w", p.Argv[0], err)
	}
	defer write.Close()
	cmd.Stdin = read
	err = cmd.Start()
	read.Close()
	if err != nil {
		return fmt.Errorf("starting %q: %w", p.Argv[0], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
		if line := step.LastLine(p.log.Name()); err != nil && line != "" {
			return fmt.Errorf("%w: %s (see %s)", err, step.NewRedaction(p.secrets...).Text(step.Redact(line, p.secrets...)),
				LogFile)
		} else if err != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
		}
		return nil
	case <-ctx.Done():
		write.Close()
		<-ended
		return ctx.Err()
	}
}

// hide removes files that hold secrets, and the key from what the tool wrote.
func (p process) hide() {
	for _, f := range p.Files {
		if f.Secret {
			_ = os.Remove(filepath.Join(p.dir, f.Name)) // where it fails, redact goes over it
		}
	}
	for _, secret := range p.secrets {
		for _, text := range append(step.Spellings(secret), secret) {
			if text != "" {
				_ = redact(p.dir, text)
				_ = redact(p.log.Name(), text)
			}
		}
	}
}

// redact overwrites secret in all files below path with as many x, in place: the length of nothing changes, and x is
// text in every format.
func redact(path, secret string) error {
	return filepath.WalkDir(path, func(name string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(data), secret) {
			return err
		}
		clean := strings.ReplaceAll(string(data), secret, strings.Repeat("x", len(secret)))
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString(clean)
		return errors.Join(err, f.Close())
	})
}

// environ is the environment of the tool: what a foreign program gets of that of load-gen, with the home of the
// person who runs bflow, where the caches of tokenizers lie, and the plan's variables on top.
func environ(inherited []string, env func(string) string, plan map[string]string) []string {
	out, _ := step.Foreign(inherited)
	for name, host := range map[string]string{"HOME": contract.EnvHostHome, "TMPDIR": contract.EnvHostTmp} {
		if value := env(host); value != "" {
			out = append(out, name+"="+value)
		}
	}
	out = append(out, "PYTHONUNBUFFERED=1")
	for k, v := range plan {
		out = append(out, k+"="+v)
	}
	return out
}

// straight adds to an environment that nothing lies between the tool and the server at endpoint, as outbound.Proxy has
// it for what bflow has deployed. What else the tool asks for, as the files of a tokenizer, goes where it went.
func straight(env []string, endpoint string) []string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" {
		return env
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		hosts := u.Hostname()
		for _, kv := range slices.Backward(env) {
			if have, ok := strings.CutPrefix(kv, name+"="); ok {
				if have != "" {
					hosts = have + "," + hosts
				}
				break
			}
		}
		env = append(env, name+"="+hosts)
	}
	return env
}

// fetch downloads the data set.
func (p process) fetch(ctx context.Context) (err error) {
	from, err := open(ctx, p.Fetch.URL)
	if err != nil {
		return fmt.Errorf("fetching the data set: %w", err)
	}
	defer from.Close()
	to, err := durable.CreateGrowing(filepath.Join(p.dir, p.Fetch.Name))
	if err != nil {
		return fmt.Errorf("fetching the data set: %w", err)
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if p.Fetch.Lines <= 0 {
		_, err = io.Copy(to, from)
	} else {
		err = firstLines(to, from, p.Fetch.Lines)
	}
	if err != nil {
		return fmt.Errorf("fetching the data set %q: %w", credential.URL(p.Fetch.URL), err)
	}
	return nil
}

func open(ctx context.Context, url string) (io.ReadCloser, error) {
	if !strings.Contains(url, "://") {
		return os.Open(url)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, outbound.WithoutAddress(err)
	}
	resp, err := outbound.Download(http.DefaultClient).Do(req)
	if err != nil {
		return nil, outbound.WithoutAddress(err)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("%q answers %s", credential.URL(url), resp.Status)
	}
	return resp.Body, nil
}

// firstLines copies the first n lines that are not blank.
func firstLines(to io.Writer, from io.Reader, n int) error {
	in := bufio.NewReader(from)
	for n > 0 {
		line, err := in.ReadString('\n')
		if strings.TrimSpace(line) != "" {
			n--
			if _, err := io.WriteString(to, line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
