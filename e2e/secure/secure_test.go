package secure

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/e2e/product"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/sim"
	"bflow.dev/bflow/sim/certs"
	"bflow.dev/bflow/tasks/step"
)

func TestMain(m *testing.M) { product.Main(m) }

// experiment measures a server that is there already.
const experiment = `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: secure}
spec:
  model: {name: acme/tiny}
  deployment_profile: existing-endpoint
  target: {base_url: %q}
  execution: {on_invalid: mark}
  load:
    api: {tls: %s}
    data: {input: 16, output: 8}
    stages: [{name: load, concurrency: 2, requests: 10}]
`

// files are the keys of load.api.tls.
func files(ca, cert, key string) string {
	return fmt.Sprintf("{ca: %q, cert: %q, key: %q}", ca, cert, key)
}

// serve starts an engine that wants a certificate of its own authority, as a server in a closed network does.
func serve(t *testing.T) (url string, f certs.Files) {
	t.Helper()
	f = write(t)
	secured, err := sim.TLSFiles{Cert: f.Cert, Key: f.Key, ClientCA: f.CA}.Load()
	if err != nil {
		t.Fatal(err)
	}
	engine, err := sim.Listen(sim.Config{Models: []string{"acme/tiny"}, TLS: secured})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return engine.URL(), f
}

func write(t *testing.T) certs.Files {
	t.Helper()
	f, err := certs.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestEveryTaskShowsTheCertificateOfThePlan(t *testing.T) {
	url, f := serve(t)
	p := product.New(t)
	p.Write("secure.yaml", fmt.Sprintf(experiment, url, files(f.CA, f.ClientCert, f.ClientKey)))
	if got := p.Run("run", "--local", "--plain", "secure.yaml"); got.Code != 0 {
		t.Fatalf("exit code %d:\n%s", got.Code, got.Err)
	}
	run := p.Only()
	if _, rows := run.Rows(); len(rows) != 10 || rows[0].Status != report.StatusOK {
		t.Errorf("rows %+v", rows)
	}
	var load report.LoadGen
	if err := step.ReadJSON(filepath.Join(report.MeasurementDir(run.Dir, 0), contract.FileLoadGen), &load); err != nil {
		t.Fatal(err)
	}
	for _, s := range load.Scrapes {
		if s.Error != "" || s.File == "" {
			t.Errorf("the metrics %s the stage could not be read: %s", s.When, s.Error)
		}
	}
	if len(load.Scrapes) != 2 {
		t.Errorf("%d scrapes of the engine, want one before the stage and one after it", len(load.Scrapes))
	}
}

func TestOfOneMistakeThereIsOneSentence(t *testing.T) {
	url, f := serve(t)
	other := write(t)
	address := strings.TrimPrefix(url, "https://")
	for _, tt := range []struct{ name, files, says string }{
		{name: "an authority that has not signed the server's certificate", files: files(other.CA, f.ClientCert, f.ClientKey),
			says: fmt.Sprintf("securing the connection to %q: the certificate of the server is not trusted: the CA "+
				"in load.api.tls.ca %q has not signed it; set the CA that has", address, other.CA)},
		{name: "no certificate of its own", files: fmt.Sprintf("{ca: %q}", f.CA),
			says: fmt.Sprintf("securing the connection to %q: the server refused it: tls: certificate required; if "+
				"it requires a client certificate, set load.api.tls.cert and key", address)},
		{name: "a file that is missing", files: fmt.Sprintf("{ca: %q}", f.CA+".old"),
			says: "reading load.api.tls.ca: open " + f.CA + ".old: no such file or directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := product.New(t)
			p.Write("secure.yaml", fmt.Sprintf(experiment, url, tt.files))
			if got := p.Run("run", "--local", "--plain", "secure.yaml"); got.Code == 0 || !strings.Contains(got.Err, tt.says) {
				t.Errorf("run: exit code %d, want %q in\n%s", got.Code, tt.says, got.Err)
			}
			dir := p.Only().Dir
			for task, flags := range map[string][]string{
				contract.Provision: {"up"}, contract.Smoketest: {"--endpoint", url}, contract.LoadGen: {"--endpoint", url},
			} {
				alone := *p
				alone.Path = filepath.Join(filepath.Dir(p.Path), task)
				got := alone.Run(append(flags, "--plan-dir", dir, "--run-dir", t.TempDir(), "--run-id", "alone")...)
				if !strings.Contains(got.Err, tt.says) {
					t.Errorf("%s: exit code %d, want %q in\n%s", task, got.Code, tt.says, got.Err)
				}
			}
		})
	}
}
