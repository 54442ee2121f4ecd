//go:build e2e

package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// anyUser is a user as OpenShift assigns one to a namespace; it is in no image. Its group is 0.
const anyUser = 1_000_660_000

var webhooks = schema.GroupVersionResource{
	Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations",
}

// TestRunsKeepOpenShiftsRules has an admission webhook do to pods what OpenShift's restricted-v2 does: the namespace's
// user and file group where none is named, a refusal where another one is, or more than restricted. A run compiled for
// OpenShift, and the controller, work under it, with a root file system that they cannot write.
func TestRunsKeepOpenShiftsRules(t *testing.T) {
	host := os.Getenv("BFLOW_E2E_HOST")
	if host == "" {
		t.Skip("BFLOW_E2E_HOST names no address of this host that the API server reaches")
	}
	l := newLab(t, alone)
	scc := startSCC(l, host, namespace, ourController.namespace)

	l.controllers().kill(ourController)
	run := l.submit(l.write("small.yaml", experiment(fourOfEight, "2s", "")), "--platform", "openshift")[0]
	l.of(run).succeeded()
	l.of(run).nothingLeft(beforeForce)

	for _, who := range []string{"bflow-controller-", run + "-provision-pod", run + "-load-gen-0-pod",
		run + "-mlflow-push-pod", "-sim-"} {
		if !scc.admitted(who) {
			t.Errorf("no pod of %q came by", who)
		}
	}
	for _, refusal := range scc.violations() {
		t.Error(refusal)
	}
}

// scc is a model of the admission plugin of OpenShift.
type scc struct {
	mu   sync.Mutex
	pods []string // names, or what names begin with
	said []string // refusals
}

func (s *scc) admitted(part string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.pods, func(name string) bool { return strings.Contains(name, part) })
}

func (s *scc) violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.said)
}

// startSCC serves the model to the API server for pods of some namespaces, until the test ends.
func startSCC(l *lab, host string, in ...string) *scc {
	l.t.Helper()
	s := &scc{}
	cert, ca := certificate(l.t, host)
	listener, err := tls.Listen("tcp", net.JoinHostPort(host, "0"), &tls.Config{
		Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12,
	})
	if err != nil {
		l.t.Fatal(err)
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener)
	l.t.Cleanup(func() { server.Close() })

	url, fail, none := "https://"+listener.Addr().String(), admissionregistrationv1.Fail,
		admissionregistrationv1.SideEffectClassNone
	hook := &admissionregistrationv1.MutatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "MutatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: "model-of-scc"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "scc.bflow.dev", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca},
			Rules: []admissionregistrationv1.RuleWithOperations{{Operations: []admissionregistrationv1.OperationType{
				admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"},
				}}},
			NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
				Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: in}}},
			FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		}},
	}
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(hook)
	if err != nil {
		l.t.Fatal(err)
	}
	remove := func() {
		l.api.Resource(webhooks).Delete(context.WithoutCancel(l.t.Context()), hook.Name, metav1.DeleteOptions{})
	}
	remove()
	if _, err := l.api.Resource(webhooks).Create(l.t.Context(), &unstructured.Unstructured{Object: tree},
		metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(remove) // before the server closes
	return s
}

func (s *scc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	var pod corev1.Pod
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := json.Unmarshal(review.Request.Object.Raw, &pod); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = s.judge(&pod)
	review.Response.UID = review.Request.UID
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(review)
}

// judge refuses what the constraint does not allow, and fills in the user.
func (s *scc) judge(pod *corev1.Pod) *admissionv1.AdmissionResponse {
	name := pod.Name + pod.GenerateName
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods = append(s.pods, name)
	if wrong := breaches(pod); len(wrong) > 0 {
		said := fmt.Sprintf("pod %s: %s", name, strings.Join(wrong, "; "))
		s.said = append(s.said, said)
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: http.StatusForbidden, Message: said}}
	}
	if pod.Spec.SecurityContext == nil {
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	pod.Spec.SecurityContext.RunAsUser, pod.Spec.SecurityContext.FSGroup = new(int64(anyUser)), new(int64(anyUser))
	value, err := json.Marshal(pod.Spec.SecurityContext)
	if err != nil {
		return &admissionv1.AdmissionResponse{
			Result: &metav1.Status{Code: http.StatusInternalServerError, Message: err.Error()},
		}
	}
	kind := admissionv1.PatchTypeJSONPatch
	return &admissionv1.AdmissionResponse{Allowed: true, PatchType: &kind,
		Patch: fmt.Appendf(nil, `[{"op":"add","path":"/spec/securityContext","value":%s}]`, value)}
}

// breaches names what restricted-v2 does not allow, and containers of ours whose root file system can be written.
func breaches(pod *corev1.Pod) (wrong []string) {
	if pod.Spec.HostNetwork || pod.Spec.HostPID || pod.Spec.HostIPC {
		wrong = append(wrong, "it shares namespaces of the host")
	}
	if c := pod.Spec.SecurityContext; c != nil &&
		(c.RunAsUser != nil || c.RunAsGroup != nil || c.FSGroup != nil || len(c.SupplementalGroups) > 0) {
		wrong = append(wrong, "it names a user or a group of its own")
	}
	for _, v := range pod.Spec.Volumes {
		if v.HostPath != nil {
			wrong = append(wrong, "volume "+v.Name+" is of the host")
		}
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		s := c.SecurityContext
		switch {
		case s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation:
			wrong = append(wrong, "container "+c.Name+" may escalate")
		case s.Capabilities == nil || !slices.Contains(s.Capabilities.Drop, "ALL") || len(s.Capabilities.Add) > 0:
			wrong = append(wrong, "container "+c.Name+" keeps capabilities")
		case s.RunAsUser != nil || s.RunAsGroup != nil:
			wrong = append(wrong, "container "+c.Name+" names a user of its own")
		case s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem:
			wrong = append(wrong, "container "+c.Name+" can write its root")
		}
	}
	return wrong
}

// certificate makes one for host that is its own authority.
func certificate(t *testing.T, host string) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter:    time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.ParseIP(host)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{
		Type: "CERTIFICATE", Bytes: der,
	})
}
