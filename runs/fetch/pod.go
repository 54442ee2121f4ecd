package fetch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/results"
	"bflow.dev/bflow/results/transfer"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	port     = 8080
	mount    = "/results"
	idle     = "5m"            // the pod ends by itself when whoever started it has gone
	lifetime = int64(6 * 3600) // and whatever it does, after this many seconds
	role     = contract.RoleResults
)

// makePod is restricted, has no rights and only reads. What the platform wants of a pod that reads the volume (its
// group), and where it may run, it takes from the run's own pods. It answers to whoever has the token, of which it
// knows the sum alone: to read the pod is not to read the results.
func makePod(p *place, token string) *corev1.Pod {
	no, yes, life := false, true, lifetime
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "bflow-results-", Namespace: p.owner.Namespace,
			Labels: map[string]string{contract.LabelRun: p.run, contract.LabelRole: role,
				contract.LabelManagedBy: contract.ManagedBy},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "tekton.dev/v1", Kind: "PipelineRun", Name: p.owner.Name, UID: p.owner.UID, // gone with the run
			}},
		},
		Spec: corev1.PodSpec{
			ServiceAccountName: contract.AccountLoad, AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
			RestartPolicy: corev1.RestartPolicyNever, ActiveDeadlineSeconds: &life, TerminationGracePeriodSeconds: new(int64(1)),
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{container(p, token)},
			Volumes: []corev1.Volume{{Name: "run", VolumeSource: corev1.VolumeSource{
				// the mount is read-only: a read-only claim needs a class that can
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: p.claim},
			}}},
		},
	}
	if t := p.owner.Spec.TaskRunTemplate.PodTemplate; t != nil {
		pod.Spec.NodeSelector, pod.Spec.Tolerations, pod.Spec.ImagePullSecrets = t.NodeSelector, t.Tolerations,
			t.ImagePullSecrets
		if s := t.SecurityContext; s != nil {
			pod.Spec.SecurityContext.FSGroup, pod.Spec.SecurityContext.FSGroupChangePolicy = s.FSGroup, s.FSGroupChangePolicy
		}
	}
	return pod
}

func container(p *place, token string) corev1.Container {
	no, yes := false, true
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"),
		corev1.ResourceMemory: resource.MustParse("64Mi")}
	return corev1.Container{
		Name: role, Image: p.image, Command: []string{"/" + contract.Collect},
		Args: []string{results.Subcommand, "--run-dir=" + mount, fmt.Sprintf("--listen=:%d", port), "--idle=" + idle,
			"--token-sha256=" + results.TokenSum(token)},
		Ports: []corev1.ContainerPort{{ContainerPort: port}},
		Resources: corev1.ResourceRequirements{Requests: list, Limits: corev1.ResourceList{
			corev1.ResourceMemory: resource.MustParse("256Mi"), // the page cache of what is served is not counted as used
		}},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		VolumeMounts: []corev1.VolumeMount{{Name: "run", MountPath: mount, SubPath: p.subPath, ReadOnly: true}},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: results.PathHealth,
				Port: intstr.FromInt32(port)}},
			PeriodSeconds: 1,
		},
	}
}

func (c *client) startPod(ctx context.Context, p *place, token string) (*corev1.Pod, error) {
	var pod corev1.Pod
	err := c.api.Create(ctx, kube.Core("pods", p.owner.Namespace, ""), makePod(p, token), &pod, kube.Write{})
	return &pod, err
}

// deletePod also works for a transfer that was interrupted.
func (c *client) deletePod(ctx context.Context, pod *corev1.Pod) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if _, err := c.api.Delete(ctx, kube.Core("pods", pod.Namespace, pod.Name), kube.Deletion{}); err != nil {
		return fmt.Errorf("deleting the results pod %q, which ends by itself after %s: %w", pod.Name, idle, err)
	}
	return nil
}

// proxy is the way to the files that a pod serves.
func (c *client) proxy(pod *corev1.Pod, token string) transfer.Server {
	at := kube.Core("pods", pod.Namespace, fmt.Sprintf("%s:%d", pod.Name, port))
	at.Sub = "proxy"
	return transfer.Server{HTTP: c.api.HTTP(), Base: c.api.URL(at).String(), Token: token}
}

// waitReady follows the pod until it serves. A pod that cannot start says why.
func (c *client) waitReady(ctx context.Context, pod *corev1.Pod, limit time.Duration) error {
	deadline, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	last := "it is not scheduled yet"
	err := kube.Until(deadline, c.api, kube.Core("pods", pod.Namespace, ""), kube.Named(pod.Name), 0,
		func(found []*corev1.Pod, trouble error) (bool, error) {
			switch {
			case trouble != nil:
				last = trouble.Error()
				return false, nil
			case len(found) == 0:
				return false, errors.New("it was deleted")
			}
			if why := kube.PodTrouble(found[0]); why != "" {
				last = why
			}
			return judge(found[0])
		})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("waiting for the results pod %q: not ready after %s: %s", pod.Name, limit, last)
	}
	return fmt.Errorf("waiting for the results pod %q: %w", pod.Name, err)
}

func judge(pod *corev1.Pod) (ready bool, err error) {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false, fmt.Errorf("it ended: %s", ending(pod))
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			return true, nil
		}
	}
	return false, nil
}

func ending(pod *corev1.Pod) string {
	for _, s := range pod.Status.ContainerStatuses {
		if t := s.State.Terminated; t != nil {
			return fmt.Sprintf("%s, exit code %d %s", t.Reason, t.ExitCode, t.Message)
		}
	}
	return pod.Status.Reason + " " + pod.Status.Message
}
