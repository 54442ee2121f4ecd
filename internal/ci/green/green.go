// Package green remembers for each row of the checks the last commit at which it passed. It trusts only a record that
// it can prove to be complete, of this version, of this user and of this repository; otherwise every check runs. It
// must not know what the checks are.
package green

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// version changes with the meaning of a record, and with what the checks do that no file of the repository shows.
const version = 2

// Record is the commits at which rows passed, and what all of these depended on besides.
type Record struct {
	Version int               `json:"version"`
	Rows    map[string]string `json:"rows"`   // row to its commit
	Beside  string            `json:"beside"` // digest of what lies beside the repository, such as tools of the checks
	Go      string            `json:"go"`     // version of the toolchain
}

// envelope is a record on disk, with the digest of its bytes: a file that was cut off is no record.
type envelope struct {
	Record json.RawMessage `json:"record"`
	SHA256 string          `json:"sha256"`
}

// UnknownError says why there is no record to rely on.
type UnknownError struct{ Why string }

func (e UnknownError) Error() string { return e.Why }

// Read returns the record in a file, if it is of now: the repository at root holds its commits as ancestors of HEAD,
// and the rest equals that of now. Rows whose commit it does not hold are left out; a record of none is unknown. Any
// other error than UnknownError means that git failed.
func Read(ctx context.Context, file, root string, now Record) (Record, error) {
	r, err := load(file)
	if err != nil {
		return Record{}, err
	}
	switch {
	case r.Version != version:
		return Record{}, UnknownError{
			fmt.Sprintf("the record of the last green commit is of version %d, this is %d", r.Version, version),
		}
	case r.Go != now.Go:
		return Record{}, UnknownError{fmt.Sprintf("the last green commit was built by %s, now it is %s", r.Go, now.Go)}
	case r.Beside != now.Beside:
		return Record{}, UnknownError{"what lies beside the repository has changed since the last green commit"}
	}
	err = r.forget(ctx, root)
	return r, err
}

// forget takes out the rows whose commit is no ancestor of HEAD.
func (r *Record) forget(ctx context.Context, root string) error {
	var last error = UnknownError{"no green row is remembered"}
	judged := map[string]error{}
	for row, commit := range r.Rows {
		err, known := judged[commit]
		if !known {
			err = ancestor(ctx, root, commit)
			judged[commit] = err
		}
		if unknown := (UnknownError{}); err != nil && !errors.As(err, &unknown) {
			return err
		}
		if err != nil {
			delete(r.Rows, row)
			last = err
		}
	}
	if len(r.Rows) > 0 {
		return nil
	}
	return last
}

func ancestor(ctx context.Context, root, commit string) error {
	if err := git(ctx, root, "cat-file", "-e", commit+"^{commit}"); err != nil {
		return unknownOn(ctx, err, "this repository does not hold the last green commit "+commit)
	}
	if err := git(ctx, root, "merge-base", "--is-ancestor", commit, "HEAD"); err != nil {
		return unknownOn(ctx, err, "the last green commit "+commit+" is no ancestor of this one")
	}
	return nil
}

func load(file string) (Record, error) {
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, UnknownError{"no green commit is remembered"}
	}
	if err != nil {
		return Record{}, UnknownError{err.Error()}
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !info.Mode().IsRegular() || !ok || int(s.Uid) != os.Getuid() ||
		info.Mode().Perm()&0o022 != 0 {
		return Record{}, UnknownError{fmt.Sprintf("%s is not a file that only this user can have written", file)}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return Record{}, UnknownError{err.Error()}
	}
	var e envelope
	var r Record
	damaged := UnknownError{fmt.Sprintf("%s is damaged", file)}
	if json.Unmarshal(text, &e) != nil || digest(e.Record) != e.SHA256 || json.Unmarshal(e.Record, &r) != nil {
		return Record{}, damaged
	}
	for _, commit := range r.Rows {
		if !isCommit(commit) {
			return Record{}, damaged
		}
	}
	return r, nil
}

// isCommit keeps words that git would take for options away from it.
func isCommit(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) >= 40
}

// unknownOn tells a "no" of git from a git that could not answer.
func unknownOn(ctx context.Context, err error, why string) error {
	var exit *exec.ExitError
	if ctx.Err() == nil && errors.As(err, &exit) {
		return UnknownError{why}
	}
	return err
}

// Write replaces the record in a file, whole or not at all.
func Write(file string, r Record) error {
	r.Version = version
	record, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("writing the green commit: %w", err)
	}
	text, err := json.Marshal(envelope{Record: record, SHA256: digest(record)})
	if err != nil {
		return fmt.Errorf("writing the green commit: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".green-*")
	if err != nil {
		return fmt.Errorf("writing the green commit: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(text)
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return fmt.Errorf("writing the green commit: %w", err)
	}
	if err := os.Rename(tmp.Name(), file); err != nil {
		return fmt.Errorf("writing the green commit: %w", err)
	}
	return nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Head is the commit of the repository at root, and whether its work tree is that commit: only then can it become
// green.
func Head(ctx context.Context, root string) (commit string, clean bool, err error) {
	out, err := output(ctx, root, "rev-parse", "HEAD")
	if err != nil {
		return "", false, err
	}
	status, err := output(ctx, root, "status", "--porcelain")
	return strings.TrimSpace(string(out)), len(bytes.TrimSpace(status)) == 0, err
}

// Changed returns the files that differ between a commit and the work tree, relative to root, those that git does not
// know and does not ignore included.
func Changed(ctx context.Context, root, commit string) (files []string, err error) {
	diff, err := output(ctx, root, "diff", "--no-ext-diff", "--no-renames", "--name-only", "-z", commit, "--")
	if err != nil {
		return nil, err
	}
	others, err := output(ctx, root, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(string(diff)+string(others), "\x00") {
		if name != "" {
			files = append(files, name)
		}
	}
	return files, nil
}

func git(ctx context.Context, root string, args ...string) error {
	_, err := output(ctx, root, args...)
	return err
}

func output(ctx context.Context, root string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("asking git %s in %q: %w", args[0], root, err)
	}
	return out, nil
}
