package provision

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/step"
)

// redaction takes out of what an engine prints the secrets that this step was given: the values of Secrets that the
// plan refers to, and the key of the server under test. unknown says that the run has others: the teardown of a run is
// given none, so that no missing Secret can keep it from freeing devices.
func redaction(s step.Streams, o Options, plan *runplan.RunPlan) (r *step.Redaction, unknown bool) {
	secrets := o.Secrets()
	err := secrets.ReadAll()
	key, noKey := step.APIKey(s.Env)
	for _, err := range []error{err, noKey} {
		if err != nil {
			fmt.Fprintf(s.Err, "provision: %v\n", err)
		}
	}
	unknown = err != nil || noKey != nil || plan == nil
	if plan != nil {
		keys, err := runplan.ReferencesIn(plan)
		keyed := slices.ContainsFunc(plan.Measurements, func(m runplan.Measurement) bool { return m.API.APIKeySecret != nil })
		unknown = unknown || err != nil || len(keys) > 0 && o.SecretsDir == "" || keyed && key == ""
	}
	return step.NewRedaction(append(secrets.Values(), key)...), unknown
}

// knownSecrets are those that the log of the engine may not show: its own, and the key under which it is asked.
func knownSecrets(d deployment) ([]string, error) {
	key, err := step.APIKey(d.env)
	if err != nil {
		return nil, err
	}
	var secrets []string
	if d.secrets != nil {
		if err := d.secrets.ReadAll(); err != nil {
			return nil, err
		}
		secrets = d.secrets.Values()
	}
	if key != "" {
		secrets = append(secrets, key)
	}
	return secrets, nil
}

// startKnowing starts a supervisor that is told secrets over its standard input: everybody on this host may read
// arguments, and the engine gets the environment.
func startKnowing(cmd *exec.Cmd, secrets []string) error {
	if len(secrets) == 0 {
		return cmd.Start()
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stdin = read
	err = cmd.Start()
	read.Close()
	if err != nil {
		return errors.Join(err, write.Close())
	}
	go func() { // until the supervisor has read them, or has ended
		defer write.Close()
		_ = json.NewEncoder(write).Encode(secrets) // one that could not read them says so
	}()
	return nil
}
