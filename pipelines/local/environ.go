package local

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// inherited are the variables of the host that every step sees: what programs need to find files, names and each other.
func inherited() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH",
		"SSL_CERT_FILE", "SSL_CERT_DIR",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	}
}

// lookup finds name in a list of KEY=VALUE.
func lookup(env []string, name string) (string, bool) {
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// secrets finds values of Secrets in the environment of the host.
type secrets struct {
	env    []string
	mapped map[string]string // "secret/key" to the name of a variable
}

// value returns a key of a Secret: by the mapping, else by the name of the variable that wants it.
func (s secrets) value(secret, key, variable string) (string, bool) {
	if name, ok := s.mapped[secret+"/"+key]; ok {
		return lookup(s.env, name)
	}
	return lookup(s.env, variable)
}

// all returns the mapped keys of a Secret.
func (s secrets) all(secret string) map[string]string {
	out := map[string]string{}
	for ref, name := range s.mapped {
		if key, ok := strings.CutPrefix(ref, secret+"/"); ok {
			if value, ok := lookup(s.env, name); ok {
				out[key] = value
			}
		}
	}
	return out
}

// environ makes the environment of a step: what the host gives, what the step declares, what the executor adds.
type environ struct {
	list    []string
	configs map[string]*corev1.ConfigMap
	secrets secrets
}

func newEnviron(o Options, configs map[string]*corev1.ConfigMap) *environ {
	e := &environ{configs: configs, secrets: secrets{o.Env, o.SecretEnv}}
	for _, name := range slices.Concat(inherited(), o.PassEnv) {
		if value, ok := lookup(o.Env, name); ok {
			e.set(name, value)
		}
	}
	return e
}

func (e *environ) set(name, value string) {
	e.list = slices.DeleteFunc(e.list, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	e.list = append(e.list, name+"="+value)
}

// declare adds what a step declares, in Kubernetes' order: envFrom first, then env, each of which may name earlier
// ones.
func (e *environ) declare(from []corev1.EnvFromSource, vars []corev1.EnvVar) error {
	for _, source := range from {
		content, err := e.source(source)
		if err != nil {
			return err
		}
		for key, value := range content {
			e.set(source.Prefix+key, value)
		}
	}
	for _, v := range vars {
		value, ok, err := e.variable(v)
		if err != nil {
			return fmt.Errorf("variable %q: %w", v.Name, err)
		}
		if ok {
			e.set(v.Name, value)
		}
	}
	return nil
}

func (e *environ) source(s corev1.EnvFromSource) (map[string]string, error) {
	if s.SecretRef != nil {
		content := e.secrets.all(s.SecretRef.Name)
		if len(content) == 0 && !isTrue(s.SecretRef.Optional) {
			return nil, fmt.Errorf("finding Secret %q: it has no value on this host; map its keys to variables",
				s.SecretRef.Name)
		}
		return content, nil
	}
	if s.ConfigMapRef == nil {
		return nil, nil
	}
	c := e.configs[s.ConfigMapRef.Name]
	if c == nil && !isTrue(s.ConfigMapRef.Optional) {
		return nil, fmt.Errorf("finding ConfigMap %q: it is not among the documents", s.ConfigMapRef.Name)
	}
	if c == nil {
		return nil, nil
	}
	return c.Data, nil
}

// variable returns the value of v, or false for one that is optional and absent.
func (e *environ) variable(v corev1.EnvVar) (string, bool, error) {
	if v.ValueFrom == nil {
		return expand(v.Value, e.list), true, nil
	}
	if ref := v.ValueFrom.SecretKeyRef; ref != nil {
		value, ok := e.secrets.value(ref.Name, ref.Key, v.Name)
		if !ok && !isTrue(ref.Optional) {
			return "", false, fmt.Errorf("key %q of Secret %q has no value on this host; set %s", ref.Key, ref.Name, v.Name)
		}
		return value, ok, nil
	}
	if ref := v.ValueFrom.ConfigMapKeyRef; ref != nil {
		if c := e.configs[ref.Name]; c != nil {
			if value, ok := c.Data[ref.Key]; ok {
				return value, true, nil
			}
		}
		if isTrue(ref.Optional) {
			return "", false, nil
		}
		return "", false, fmt.Errorf("finding key %[2]q of ConfigMap %[1]q: it is not among the documents", ref.Name, ref.Key)
	}
	if podOnly(v) {
		return "", false, nil
	}
	return "", false, errors.New("only values of Secrets and ConfigMaps are known on a host")
}

// podOnly says whether v tells a step of ours about its pod. Those take its absence for a host.
func podOnly(v corev1.EnvVar) bool {
	return v.ValueFrom != nil && v.ValueFrom.FieldRef != nil && strings.HasPrefix(v.Name, "BFLOW_")
}

func isTrue(b *bool) bool { return b != nil && *b }

// expand replaces $(NAME) by the variable of env as Kubernetes does: an unknown one stays, and $$ is a literal dollar.
func expand(s string, env []string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 || i == len(s)-1 {
			return b.String() + s
		}
		b.WriteString(s[:i])
		end := strings.IndexByte(s[i:], ')')
		switch {
		case s[i+1] == '$':
			b.WriteByte('$')
			s = s[i+2:]
		case s[i+1] == '(' && end > 0:
			value, ok := lookup(env, s[i+2:i+end])
			if !ok {
				value = s[i : i+end+1]
			}
			b.WriteString(value)
			s = s[i+end+1:]
		default:
			b.WriteByte('$')
			s = s[i+1:]
		}
	}
}
