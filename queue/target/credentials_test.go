package target

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/runplan/contract"
	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	want := Credentials{Target: "far", Kubeconfig: []byte("k"), CA: []byte("c"), Token: "t", Expires: now.Add(time.Hour),
		Renew: HalfLife(now, now.Add(time.Hour)),
		UID:   "u", Hub: "h", Nodes: "pool=a", LoadNodes: "pool=cpu", Aliases: map[string]string{"api.far": "10.0.0.7"}}
	secret, err := want.Secret()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadCredentials(secret)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if want := now.Add(30 * time.Minute); !got.Renew.Equal(want) {
		t.Errorf("half of an hour is %s", got.Renew)
	}
	delete(secret.Data, contract.KeyToken)
	if _, err := ReadCredentials(secret); err == nil || !strings.Contains(err.Error(), `no key token; bflow target add`) {
		t.Errorf("without a token: %v", err)
	}
}

// TestTheWayIsThatOfThePerson reads what is kept as a task does, from files, and as the controller does.
func TestTheWayIsThatOfThePerson(t *testing.T) {
	for _, row := range []struct {
		name    string
		cluster clientcmdapi.Cluster
		aliases map[string]string
		host    string
		tls     string
	}{
		{"a name that a name server knows", clientcmdapi.Cluster{Server: "https://api.far:6443"}, nil, "https://api.far:6443",
			""},
		{"a name that nobody knows is called by its address", clientcmdapi.Cluster{Server: "https://api.far:6443"},
			map[string]string{"api.far": "10.0.0.7"}, "https://10.0.0.7:6443", "api.far"},
		{"the same without a port, in IPv6", clientcmdapi.Cluster{Server: "https://api.far/k8s/clusters/x"},
			map[string]string{"api.far": "fd00::7"}, "https://[fd00::7]/k8s/clusters/x", "api.far"},
		{"the alias of another host", clientcmdapi.Cluster{Server: "https://api.far:6443"},
			map[string]string{"other": "10.0.0.7"}, "https://api.far:6443", ""},
		{"a name for the certificate stays", clientcmdapi.Cluster{Server: "https://api.far:6443",
			TLSServerName: "kubernetes"},
			map[string]string{"api.far": "10.0.0.7"}, "https://10.0.0.7:6443", "kubernetes"},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.cluster.CertificateAuthorityData = []byte(testCA)
			text, err := NewKubeconfig(row.cluster, row.aliases)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			for name, content := range map[string]string{contract.KeyKubeconfig: string(text), contract.KeyCA: testCA,
				contract.KeyToken: "secret"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			files, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, contract.KeyKubeconfig))
			if err != nil {
				t.Fatal(err)
			}
			if files.BearerTokenFile != filepath.Join(dir, contract.KeyToken) ||
				files.CAFile != filepath.Join(dir, contract.KeyCA) {
				t.Errorf("the files are %q and %q", files.BearerTokenFile, files.CAFile)
			}
			memory, err := Credentials{Kubeconfig: text, CA: []byte(testCA)}.Config()
			if err != nil {
				t.Fatal(err)
			}
			if files.Host != row.host || memory.Host != row.host || files.ServerName != row.tls || memory.ServerName != row.tls {
				t.Errorf("hosts %q and %q as %q and %q", files.Host, memory.Host, files.ServerName, memory.ServerName)
			}
			if string(memory.CAData) != testCA || memory.BearerToken != "" {
				t.Error("the controller's way has no authority, or a token")
			}
		})
	}
}

func TestNoCredentialOfThePersonIsKept(t *testing.T) {
	text, err := NewKubeconfig(clientcmdapi.Cluster{Server: "https://x", CertificateAuthorityData: []byte(testCA)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"client-", "password", "token:", "exec", "data"} {
		if strings.Contains(string(text), word) {
			t.Errorf("%q is in\n%s", word, text)
		}
	}
	if _, err := NewKubeconfig(clientcmdapi.Cluster{Server: "nonsense"}, nil); err == nil {
		t.Error("no address is an address")
	}
}

func TestAnAddressWithACredentialIsRefused(t *testing.T) {
	for _, row := range []struct {
		name    string
		cluster clientcmdapi.Cluster
		want    string
	}{
		{"a password of the proxy", clientcmdapi.Cluster{Server: "https://x", ProxyURL: "http://me:s3cret@proxy:3128"},
			"proxy-url http://proxy:3128 holds a credential"},
		{"a token as the user of the proxy", clientcmdapi.Cluster{Server: "https://x", ProxyURL: "socks5://s3cret@proxy"},
			"proxy-url socks5://proxy holds"},
		{"a key in the address of the proxy", clientcmdapi.Cluster{Server: "https://x",
			ProxyURL: "http://proxy/?token=s3cret"}, "proxy-url http://proxy/?token=xxxxx holds"},
		{"a password of the server", clientcmdapi.Cluster{Server: "https://me:s3cret@x"},
			"server https://x holds a credential"},
		{"a password in what is no address", clientcmdapi.Cluster{Server: "https://x", ProxyURL: "http://me:s3cret%zz@proxy"},
			"proxy-url xxxxx holds"},
	} {
		t.Run(row.name, func(t *testing.T) {
			text, written := NewKubeconfig(row.cluster, nil)
			kept, err := clientcmd.Write(clientcmdapi.Config{Clusters: map[string]*clientcmdapi.Cluster{"x": &row.cluster},
				Contexts: map[string]*clientcmdapi.Context{"x": {Cluster: "x"}}, CurrentContext: "x"})
			if err != nil {
				t.Fatal(err)
			}
			_, read := Credentials{Target: "far", Kubeconfig: kept}.Config()
			for _, err := range []error{written, read} {
				if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("got %v, want %q", err, row.want)
				}
			}
			if text != nil {
				t.Errorf("written is\n%s", text)
			}
		})
	}
}

const testCA = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
