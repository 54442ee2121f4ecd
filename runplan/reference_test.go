package runplan

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// held are the values of Secrets in these tests.
func held(k SecretKey) (string, error) {
	value, ok := map[SecretKey]string{{"llm", "key"}: "s3cret", {"llm", "pass.word"}: "p@ss/ w\"%",
		{"llm", "url"}: "https://me:a%40b@h.example/v1"}[k]
	if !ok {
		return "", errors.New("there is no " + k.Name + "/" + k.Key)
	}
	return value, nil
}

func TestAReferenceIsFilledIn(t *testing.T) {
	key, password, address := SecretKey{"llm", "key"}.Reference(), SecretKey{"llm", "pass.word"}.Reference(),
		SecretKey{"llm", "url"}.Reference()
	for _, row := range []struct {
		name, text, want string
		fill             func(string, Lookup) (string, error)
	}{
		{"a text that is a reference", key, "s3cret", Fill},
		{"a scheme before it", "Bearer " + key, "Bearer s3cret", Fill},
		{"a part of an address is escaped", "https://me:" + password + "@h.example/v1?key=" + password,
			"https://me:p%40ss%2F%20w%22%25@h.example/v1?key=p%40ss%2F%20w%22%25", FillAddress},
		{"an address that lies in a Secret is not", address, "https://me:a%40b@h.example/v1", FillAddress},
		{"what looks like one", "secretKeyRef~llm~ secretKeyRef~LLM~key~ secretKeyRef~llm~..~",
			"secretKeyRef~llm~ secretKeyRef~LLM~key~ secretKeyRef~llm~..~", Fill},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got, err := row.fill(row.text, held); err != nil || got != row.want {
				t.Errorf("got %q, %v, want %q", got, err, row.want)
			}
		})
	}
	if _, err := Fill(SecretKey{"other", "key"}.Reference(), held); err == nil ||
		!strings.Contains(err.Error(), "other/key") {
		t.Errorf("a missing value: %v", err)
	}
}

func TestAMeasurementIsFilledInACopy(t *testing.T) {
	ref, password := SecretKey{"llm", "key"}.Reference(), SecretKey{"llm", "pass.word"}.Reference()
	m := &Measurement{Name: "load", Env: map[string]string{"HF_TOKEN": password},
		API: API{Path: "/v1?key=" + password, Headers: map[string]string{"Apikey": "Key " + ref},
			Body: map[string]any{"extra": map[string]any{"list": []any{password}}}},
		Data: Data{File: &File{URL: "https://me:" + password + "@h.example/x.csv"}}}
	filled, err := FillMeasurement(m, held)
	if err != nil {
		t.Fatal(err)
	}
	want := &Measurement{Name: "load", Env: map[string]string{"HF_TOKEN": "p@ss/ w\"%"},
		API: API{Path: "/v1?key=p%40ss%2F%20w%22%25", Headers: map[string]string{"Apikey": "Key s3cret"},
			Body: map[string]any{"extra": map[string]any{"list": []any{"p@ss/ w\"%"}}}},
		Data: Data{File: &File{URL: "https://me:p%40ss%2F%20w%22%25@h.example/x.csv"}}}
	if diff := cmp.Diff(want, filled); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if m.Env["HF_TOKEN"] != password || m.API.Body["extra"].(map[string]any)["list"].([]any)[0] != password {
		t.Error("the plan's own measurement was changed")
	}
	if got, err := ReferencesIn(m); err != nil || !cmp.Equal(got, []SecretKey{{"llm", "key"}, {"llm", "pass.word"}}) {
		t.Errorf("it refers to %v, %v", got, err)
	}
}

func TestWhichSecretHoldsACredentialIsNotPartOfWhatIsMeasured(t *testing.T) {
	plan := func(k SecretKey, base string) *RunPlan {
		p := &RunPlan{APIVersion: APIVersion, Kind: Kind, Deployment: Deployment{
			Env: map[string]string{"HF_TOKEN": k.Reference()}, Endpoint: &Endpoint{BaseURL: base}},
			Measurements: []Measurement{{API: API{Headers: map[string]string{"Apikey": k.Reference()}}}}}
		if err := Identify(p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, b := plan(SecretKey{"a", "x"}, "https://h.example"), plan(SecretKey{"b", "y"}, "https://h.example")
	if a.Hash != b.Hash || a.Digest == b.Digest {
		t.Error("another Secret is another point, or the same document")
	}
	without := plan(SecretKey{}, "https://h.example")
	if without.Hash == a.Hash {
		t.Error("a text that is no reference counts as one")
	}
	one, other := plan(SecretKey{"a", "x"}, SecretKey{"a", "url"}.Reference()),
		plan(SecretKey{"a", "x"}, SecretKey{"b", "url"}.Reference())
	if one.Hash == other.Hash {
		t.Error("two servers whose addresses lie in two Secrets are one")
	}
}
