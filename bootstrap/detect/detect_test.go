package detect_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/detect/detecttest"
	"bflow.dev/bflow/internal/apitest"

	"github.com/google/go-cmp/cmp"
)

const kubeSystem = `
apiVersion: v1
kind: Namespace
metadata: {name: kube-system, uid: 5d1c}
`

func TestEverythingAtOnce(t *testing.T) {
	s := apitest.NewWith(t, []string{
		"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy", "security.openshift.io/v1 SecurityContextConstraints",
	}, kubeSystem, `
{apiVersion: config.openshift.io/v1, kind: ClusterVersion, metadata: {name: version}, status: {desired: {version: 4.20.1}}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}, provisioner: csi.example, volumeBindingMode: WaitForFirstConsumer}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: slow}, provisioner: csi.example}
`)
	c, api := detecttest.Connect(t, s)
	got, err := detect.Of(context.Background(), c, api)
	if err != nil {
		t.Fatal(err)
	}
	want := detect.Found{
		Platform: detect.Platform{Kubernetes: "v1.34.4", OpenShift: "4.20.1", Hub: "5d1c", AdmissionPolicy: true},
		Storage: []detect.Storage{{Name: "fast", Provisioner: "csi.example", Default: true},
			{Name: "slow", Provisioner: "csi.example", Immediate: true}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestWhatMayNotBeReadIsAnErrorAndTheRestIsThere(t *testing.T) {
	s := apitest.NewWith(t, nil, kubeSystem)
	s.Refuse(func(q apitest.Request) (int, string) {
		if q.Resource == "nodes" {
			return http.StatusForbidden, "you may not get nodes"
		}
		return 0, ""
	})
	c, api := detecttest.Connect(t, s)
	got, err := detect.Of(context.Background(), c, api)
	if err == nil || !strings.Contains(err.Error(), "listing nodes: you may not get nodes") {
		t.Errorf("got %v", err)
	}
	if got.Platform.Hub != "5d1c" {
		t.Errorf("the identity of the cluster is %q", got.Platform.Hub)
	}
}
