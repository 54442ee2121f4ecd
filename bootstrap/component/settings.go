package component

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Kind is how a flag is given on the command line.
type Kind int

// Kinds of flags.
const (
	Text  Kind = iota
	Texts      // repeatable
	Number
	Switch // true without a value
)

// Flag is one setting of a component: a flag of bflow bootstrap, and the value that the inventory keeps for later
// calls.
type Flag struct {
	Name, Usage string // of the command line
	Key         string // of the value in the inventory
	Kind        Kind

	// Parse checks what was given, one text except for Texts, and returns the value to keep, nil for that of the call
	// before. Its errors name the flag.
	Parse func(given []string) (any, error)
}

// Settings are the values of flags, by the keys under which the inventory keeps them.
type Settings map[string]json.RawMessage

// ParseFlags returns the values of flags. given returns what was given for one, nil where nothing was.
func ParseFlags(flags []Flag, given func(Flag) []string) (Settings, error) {
	settings := Settings{}
	var problems []error
	for _, f := range flags {
		texts := given(f)
		if texts == nil {
			continue
		}
		value, err := f.Parse(texts)
		if err == nil && value != nil {
			settings[f.Key], err = json.Marshal(value)
		}
		problems = append(problems, err)
	}
	return settings, errors.Join(problems...)
}

// Keys returns the keys that are set, in the order of All and then by name.
func (s Settings) Keys() []string {
	var keys []string
	for _, f := range Flags(All()) {
		if _, set := s[f.Key]; set {
			keys = append(keys, f.Key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// Over returns the settings, and those of before that they do not have.
func (s Settings) Over(before Settings) Settings {
	all := Settings{}
	maps.Copy(all, before)
	maps.Copy(all, s)
	return all
}

// Read reads the value of a key into a variable, which keeps its value where the key is not set.
func (s Settings) Read(key string, into any) error {
	text, set := s[key]
	if !set {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading setting %q of the installation: %w", key, err)
	}
	return nil
}
