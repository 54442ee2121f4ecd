package overlays_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/bootstrap/overlays"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// trigger is a Trigger of Tekton Triggers, as far as ours go.
type trigger struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       struct {
		Interceptors []interceptor       `json:"interceptors"`
		Bindings     []map[string]string `json:"bindings"`
		Template     map[string]string   `json:"template"`
	} `json:"spec"`
}

type interceptor struct {
	Ref    map[string]string `json:"ref"`
	Params []struct {
		Name  string          `json:"name"`
		Value json.RawMessage `json:"value"`
	} `json:"params"`
}

// param decodes a param of the interceptor of that name into to.
func (t trigger) param(interceptor, name string, to any) error {
	for _, i := range t.Spec.Interceptors {
		for _, p := range i.Params {
			if i.Ref["name"] == interceptor && p.Name == name {
				return json.Unmarshal(p.Value, to)
			}
		}
	}
	return errors.New("it has no " + interceptor + " with " + name)
}

// event is a document of testdata/events.yaml.
type event struct {
	About  string            `json:"about"`
	Key    string            `json:"key"`
	Header map[string]string `json:"header"`
	Body   json.RawMessage   `json:"body"`
	Starts map[string]string `json:"starts"`
	Tells  string            `json:"tells"`
}

// secret is Secret bflow-webhook in these tests.
func secret() map[string]string {
	return map[string]string{"github": "gh", "gitlab": "gl", "webhook": "wh", "github-user.jane": "allowed",
		"github-user.mallory": "not",
		"github-user.eve":     "allowed", "gitlab-user.jane": "allowed", "gitlab-user.mallory": "not"}
}

func documents(t *testing.T, fsys fs.FS, name string) [][]byte {
	t.Helper()
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(text, []byte("\n---\n"))
}

func shippedTriggers(t *testing.T) []trigger {
	t.Helper()
	var all []trigger
	for _, name := range []string{"github", "gitlab", "webhook", "notices"} {
		for _, text := range documents(t, overlays.FS, "components/triggers/"+name+".yaml") {
			if !bytes.Contains(text, []byte("\nkind: Trigger\n")) {
				continue
			}
			var one trigger
			if err := yaml.UnmarshalStrict(text, &one); err != nil {
				t.Fatal(err)
			}
			all = append(all, one)
		}
	}
	return all
}

// isNotice reports whether the trigger only notes what is dropped.
func (t trigger) isNotice() bool { return strings.HasSuffix(t.Metadata["name"], "-notice") }

// TestEventsStartWhatTheyMayAndNothingElse does what Triggers does with every event, except for cryptography. Package
// e2e/cluster does the same on a cluster with Triggers, with the same events.
func TestEventsStartWhatTheyMayAndNothingElse(t *testing.T) {
	triggers := shippedTriggers(t)
	for _, text := range documents(t, os.DirFS("testdata"), "events.yaml") {
		var e event
		if err := yaml.UnmarshalStrict(text, &e); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		t.Run(e.About, func(t *testing.T) {
			started, told := "", ""
			for _, one := range triggers {
				extensions, err := one.take(e, secret())
				switch {
				case err != nil:
					t.Logf("%s: %v", one.Metadata["name"], err)
				case one.isNotice() && told != "":
					t.Fatalf("%s tells a second time: %v", one.Metadata["name"], extensions)
				case one.isNotice():
					told = noticeOf(t, extensions)
				case started != "" || e.Starts == nil:
					t.Fatalf("%s starts %v", one.Metadata["name"], extensions)
				default:
					started = one.Metadata["name"]
					if diff := cmp.Diff(e.Starts, paramsOf(t, extensions)); diff != "" {
						t.Errorf("%s: -want +got\n%s", started, diff)
					}
				}
			}
			if e.Starts != nil && started == "" {
				t.Error("it starts nothing")
			}
			if told != e.Tells {
				t.Errorf("told  %s\nwant  %s", told, e.Tells)
			}
			if e.Starts != nil && strings.HasPrefix(told, "Dropped") {
				t.Error("it starts what it tells to have dropped")
			}
		})
	}
}

// TestAnEmptyKeyIsNoKey: anybody could sign with it.
func TestAnEmptyKeyIsNoKey(t *testing.T) {
	for _, text := range documents(t, os.DirFS("testdata"), "events.yaml") {
		var e event
		if err := yaml.UnmarshalStrict(text, &e); err != nil {
			t.Fatal(err)
		}
		for _, keys := range []map[string]string{nil, {"github": "", "gitlab": "", "webhook": "",
			"github-user.jane": "allowed", "gitlab-user.jane": "allowed"}} {
			for _, one := range shippedTriggers(t) {
				if extensions, err := one.take(e, keys); err == nil {
					t.Errorf("%s: %s starts %v with keys %v", e.About, one.Metadata["name"], extensions, keys)
				}
			}
		}
	}
}

// take returns what the interceptors make of an event, or why they stop it.
func (t trigger) take(e event, keys map[string]string) (map[string]any, error) {
	header := http.Header{}
	for k, v := range e.Header {
		header.Set(k, v)
	}
	if err := t.signed(e, header, keys); err != nil {
		return nil, err
	}
	extensions := map[string]any{}
	for _, i := range t.Spec.Interceptors {
		if i.Ref["name"] != "cel" {
			continue
		}
		ask, err := asker(e, header, keys, extensions)
		if err != nil {
			return nil, err
		}
		made, err := i.evaluate(ask)
		if err != nil {
			return nil, err
		}
		extensions = merged(extensions, made)
	}
	return extensions, nil
}

// evaluate returns the extensions that an interceptor cel makes, or why it stops the event.
func (i interceptor) evaluate(ask func(string) (ref.Val, error)) (map[string]any, error) {
	var filter string
	var overlays []struct{ Key, Expression string }
	for _, p := range i.Params {
		if err := json.Unmarshal(p.Value, map[string]any{"filter": &filter, "overlays": &overlays}[p.Name]); err != nil {
			return nil, err
		}
	}
	if filter != "" {
		if is, err := ask(filter); err != nil {
			return nil, err
		} else if is != types.True {
			return nil, errors.New("the filter is not satisfied")
		}
	}
	made := map[string]any{}
	for _, o := range overlays {
		value, err := ask(o.Expression)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.Key, err)
		}
		made[o.Key] = value.Value()
	}
	return made, nil
}

// merged returns a with the members of b: an interceptor sees the extensions of those before it.
func merged(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// signed does what the interceptors github and gitlab check. The token of GitLab may not be empty; a signature may be
// made with any key.
func (t trigger) signed(e event, header http.Header, keys map[string]string) error {
	kind := t.Spec.Interceptors[0].Ref["name"]
	var ref struct{ SecretName, SecretKey string }
	if err := t.param(kind, "secretRef", &ref); err != nil {
		return err
	}
	var events []string
	name := map[string]string{"github": "X-Github-Event", "gitlab": "X-Gitlab-Event"}[kind]
	if t.param(kind, "eventTypes", &events) == nil && !slices.Contains(events, header.Get(name)) {
		return errors.New("it is another event")
	}
	value, found := keys[ref.SecretKey]
	if !found || ref.SecretName != "bflow-webhook" || e.Key != ref.SecretKey || kind == "gitlab" && value == "" {
		return errors.New("it is not signed by this key")
	}
	return nil
}

// asker evaluates expressions as the interceptor cel does.
func asker(e event, header http.Header, keys map[string]string,
	extensions map[string]any) (func(string) (ref.Val, error), error) {
	var body map[string]any
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return nil, err
	}
	object := cel.MapType(cel.StringType, cel.DynType)
	env, err := cel.NewEnv(ext.Strings(), ext.Encoders(), ext.Sets(), ext.Lists(), ext.Math(),
		cel.Variable("body", object), cel.Variable("header", object), cel.Variable("extensions", object),
		cel.Function("canonical", cel.MemberOverload("canonical", []*cel.Type{object, cel.StringType}, cel.StringType,
			cel.BinaryBinding(func(_, key ref.Val) ref.Val { return types.String(header.Get(string(key.(types.String)))) }))),
		cel.Function("compareSecret", cel.MemberOverload("compareSecret",
			[]*cel.Type{cel.StringType, cel.StringType, cel.StringType}, cel.BoolType,
			cel.FunctionBinding(func(v ...ref.Val) ref.Val {
				value, found := keys[string(v[1].(types.String))]
				if !found || v[2] != types.String("bflow-webhook") {
					return types.NewErr("there is no key %v in Secret %v", v[1], v[2])
				}
				return types.Bool(value == string(v[0].(types.String)))
			}))),
		cel.Function("translate", cel.MemberOverload("translate", []*cel.Type{cel.StringType, cel.StringType, cel.StringType},
			cel.StringType,
			cel.FunctionBinding(func(v ...ref.Val) ref.Val {
				return types.String(regexp.MustCompile(string(v[1].(types.String))).ReplaceAllString(string(v[0].(types.String)),
					string(v[2].(types.String))))
			}))))
	if err != nil {
		return nil, err
	}
	return func(text string) (ref.Val, error) {
		checked, issues := env.Compile(text)
		if issues.Err() != nil {
			return nil, issues.Err()
		}
		program, err := env.Program(checked)
		if err != nil {
			return nil, err
		}
		value, _, err := program.Eval(map[string]any{"body": body, "header": map[string]any{}, "extensions": extensions})
		return value, err
	}, nil
}

// filled applies the first binding and template of a file as Triggers does, by replacing text in JSON, and decodes the
// result into to.
func filled(t *testing.T, binding, template []byte, extensions map[string]any, to any) {
	t.Helper()
	var params struct {
		Spec struct {
			Params []struct{ Name, Value string }
		}
	}
	var made struct {
		Spec struct{ ResourceTemplates []json.RawMessage }
	}
	if err := errors.Join(yaml.Unmarshal(binding, &params), yaml.Unmarshal(template, &made)); err != nil {
		t.Fatal(err)
	}
	text := string(made.Spec.ResourceTemplates[0])
	for _, p := range params.Spec.Params {
		key := strings.TrimSuffix(strings.TrimPrefix(p.Value, "$(extensions."), ")")
		value, is := extensions[key].(string)
		if !is || strings.Contains(value, "$(") {
			t.Fatalf("extension %s is %#v", key, extensions[key])
		}
		quoted, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, "$(tt.params."+p.Name+")", string(quoted[1:len(quoted)-1]))
	}
	if err := json.Unmarshal([]byte(text), to); err != nil || strings.Contains(text, "$(") {
		t.Fatalf("%v in %s", err, text)
	}
}

// noticeOf returns reason and message of the Event that a notice makes.
func noticeOf(t *testing.T, extensions map[string]any) string {
	t.Helper()
	parts := documents(t, overlays.FS, "components/triggers/notices.yaml")
	var made struct {
		Kind, Type, Reason, Message string
		InvolvedObject              struct{ Kind, Name, Namespace string }
	}
	filled(t, parts[len(parts)-2], parts[len(parts)-1], extensions, &made)
	if about := made.InvolvedObject; made.Kind != "Event" || about.Kind != "EventListener" || about.Name != "bflow" ||
		about.Namespace != "benchflow" {
		t.Errorf("the notice is %+v", made)
	}
	if want := map[string]string{"Dropped": "Warning", "NeedsKey": "Normal"}[made.Reason]; made.Type != want {
		t.Errorf("an Event with reason %s is of type %q", made.Reason, made.Type)
	}
	return made.Reason + ": " + made.Message
}

// paramsOf returns the params of the PipelineRun that the template makes, without empty ones, and its annotations.
func paramsOf(t *testing.T, extensions map[string]any) map[string]string {
	t.Helper()
	parts := documents(t, overlays.FS, "components/triggers/template.yaml")
	var run struct {
		Metadata struct{ Annotations map[string]string }
		Spec     struct {
			Params []struct{ Name, Value string }
		}
	}
	filled(t, parts[0], parts[1], extensions, &run)
	got := map[string]string{"event": run.Metadata.Annotations["bflow.dev/event"],
		"author": run.Metadata.Annotations["bflow.dev/author"]}
	for _, p := range run.Spec.Params {
		if p.Value != "" && p.Name != "wait" {
			got[p.Name] = p.Value
		}
	}
	return got
}
