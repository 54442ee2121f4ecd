package local

import (
	"fmt"
	"strings"

	"bflow.dev/bflow/internal/bounded"
	executor "bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/step"
)

// Given says where values of Secrets are on this host: env:VARIABLE or file:PATH.
type Given map[runplan.SecretKey]string

// ParseGiven reads NAME/KEY=env:VARIABLE and NAME/KEY=file:PATH.
func ParseGiven(args []string) (Given, error) {
	given := Given{}
	for _, arg := range args {
		ref, source, assigned := strings.Cut(arg, "=")
		name, key, _ := strings.Cut(ref, "/")
		k := runplan.SecretKey{Name: name, Key: key}
		kind, place, _ := strings.Cut(source, ":")
		if !assigned || !k.Valid() || place == "" || kind != "env" && kind != "file" {
			// what stands behind the = may be the secret itself
			return nil, step.Usagef("reading flags: --secret %s=...: want NAME/KEY=env:VARIABLE or NAME/KEY=file:PATH",
				ref)
		}
		given[k] = source
	}
	return given, nil
}

// Variable is where the value of k is looked for on this host when nobody says another place.
func Variable(k runplan.SecretKey) string {
	word := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}
	return "BFLOW_SECRET_" + strings.Map(word, k.Name) + "_" + strings.Map(word, k.Key)
}

// maxSecret is how long a value of a Secret may be: no Secret of a cluster holds more.
const maxSecret = 1 << 20

// find returns the value of k, which is read of no place but the one that was given, where one was.
func (g Given) find(k runplan.SecretKey, env []string) (string, error) {
	kind, place, named := strings.Cut(g[k], ":")
	if !named {
		kind, place = "env", Variable(k)
	}
	if kind == "file" {
		text, err := bounded.ReadFile(place, maxSecret)
		if err != nil {
			return "", step.Usagef("reading key %q of Secret %q: %w", k.Key, k.Name, err)
		}
		return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), nil
	}
	if text := value(env, place); text != "" {
		return text, nil
	}
	if named {
		return "", step.Usagef("reading key %q of Secret %q: variable %s is not set", k.Key, k.Name, place)
	}
	return "", step.Usagef("the run needs key %q of Secret %q, which has no value on this machine: set %s, or use "+
		"--secret %s/%s=env:VARIABLE or file:PATH",
		k.Key, k.Name, place, k.Name, k.Key)
}

// provideSecrets gives the executor what plan refers to: what the file held literally, what was given, and what
// variables hold. It is in the environment of this process alone, from which steps inherit none of it.
func provideSecrets(opt *executor.Options, o Options, plan *runplan.RunPlan) error {
	values := map[runplan.SecretKey]string{}
	for k := range o.Given { // an API key too, which no text refers to
		text, err := o.Given.find(k, o.Env)
		if err != nil {
			return err
		}
		values[k] = text
	}
	for _, s := range o.Secrets {
		values[runplan.SecretKey{Name: s.Name, Key: s.Key}] = s.Value
	}
	keys, err := runplan.ReferencesIn(plan)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if _, known := values[k]; known {
			continue
		}
		if values[k], err = o.Given.find(k, o.Env); err != nil {
			return err
		}
	}
	n := 0
	for k, text := range values {
		name := fmt.Sprintf("BFLOW_SECRET_VALUE_%d", n)
		n++
		opt.Env = append(opt.Env, name+"="+text)
		opt.SecretEnv[k.Name+"/"+k.Key] = name
	}
	return nil
}
