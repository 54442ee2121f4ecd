package step

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bflow.dev/bflow/runplan"
)

// shortestHidden is the length from which a value is taken out of texts: a shorter one is found in words that have
// nothing to do with it.
const shortestHidden = 5

// Secrets are the values of the Secrets that a plan refers to, as files NAME/KEY of a folder. It remembers what was
// read, to take it out of texts: servers like to echo what they refuse. It is not safe for concurrent use while values
// are read.
type Secrets struct {
	dir  string
	read []string
}

// Secrets returns those of the task. Nothing is read before it is asked for.
func (o *Options) Secrets() *Secrets { return &Secrets{dir: o.SecretsDir} }

// Find is a runplan.Lookup. One line end at the end of a file is not part of the value.
func (s *Secrets) Find(k runplan.SecretKey) (string, error) {
	if !k.Valid() {
		return "", Usagef("reading Secret %q: %q names no key of a Secret", k.Name, k.Key)
	}
	text, err := os.ReadFile(filepath.Join(s.dir, k.Name, k.Key))
	if s.dir == "" || errors.Is(err, fs.ErrNotExist) {
		return "", Usagef("reading key %q of Secret %q: it does not exist; create the Secret in the namespace of the "+
			"run, with that key", k.Key, k.Name)
	}
	if err != nil {
		return "", Usagef("reading key %q of Secret %q: %w", k.Key, k.Name, err)
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	s.read = append(s.read, value)
	return value, nil
}

// ReadAll reads every value that the task was given, whoever refers to it.
func (s *Secrets) ReadAll() error {
	if s.dir == "" {
		return nil
	}
	names, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) { // whoever needs a value of it says what is missing
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the Secrets of the task: %w", err)
	}
	for _, name := range names {
		if strings.HasPrefix(name.Name(), "..") { // where Kubernetes keeps what the names are links to
			continue
		}
		keys, err := os.ReadDir(filepath.Join(s.dir, name.Name()))
		if err != nil {
			return fmt.Errorf("reading Secret %q of the task: %w", name.Name(), err)
		}
		for _, key := range keys {
			k := runplan.SecretKey{Name: name.Name(), Key: key.Name()}
			if !k.Valid() {
				continue
			}
			if _, err := s.Find(k); err != nil {
				return err
			}
		}
	}
	return nil
}

// Values are those that were read and are long enough to be told from ordinary words.
func (s *Secrets) Values() []string {
	var values []string
	for _, v := range s.read {
		if len(v) >= shortestHidden {
			values = append(values, v)
		}
	}
	return values
}
