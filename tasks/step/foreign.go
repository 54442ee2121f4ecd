package step

import (
	"slices"
	"strings"

	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/runplan/contract"
)

// Foreign returns what of an environment (NAME=value) a program gets that an experiment names and that is no part of
// bflow: all but what is named like a credential, other than one of the model hub, what holds one in its text (the
// password of an address, the value of a flag), other than a proxy, and what is bflow's own affair. withheld are the
// names of the credentials that are left out, sorted.
func Foreign(environ []string) (env, withheld []string) {
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		proxy := strings.HasSuffix(strings.ToLower(name), "_proxy")
		switch {
		case strings.HasPrefix(name, "MLFLOW_"), name == contract.EnvLifeline:
		case credential.Name(name) && name != "HF_TOKEN" && name != "HUGGING_FACE_HUB_TOKEN",
			!proxy && credential.Text(value) != value:
			withheld = append(withheld, name)
		default:
			env = append(env, kv)
		}
	}
	slices.Sort(withheld)
	return env, withheld
}
