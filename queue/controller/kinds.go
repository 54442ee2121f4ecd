package controller

import (
	"net/http"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// mapper knows the kinds of the hub that the controller uses without asking: a CRD that is missing when it starts is a
// kind that cannot be read yet, as a right that is missing is. The API server is asked for any other.
func mapper(config *rest.Config, client *http.Client) (meta.RESTMapper, error) {
	known := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion,
		coordinationv1.SchemeGroupVersion,
		schedulingv1.SchemeGroupVersion, tektonv1.SchemeGroupVersion, tektonv1beta1.SchemeGroupVersion,
		kueue.SchemeGroupVersion})
	for _, of := range []struct {
		group schema.GroupVersion
		scope meta.RESTScope
		kinds []string
	}{
		{corev1.SchemeGroupVersion, meta.RESTScopeRoot, []string{"Namespace", "Node"}},
		{corev1.SchemeGroupVersion, meta.RESTScopeNamespace,
			[]string{"ConfigMap", "PersistentVolumeClaim", "Pod", "Secret", "Service", "ServiceAccount"}},
		{appsv1.SchemeGroupVersion, meta.RESTScopeNamespace, []string{"Deployment"}},
		{coordinationv1.SchemeGroupVersion, meta.RESTScopeNamespace, []string{"Lease"}},
		{schedulingv1.SchemeGroupVersion, meta.RESTScopeRoot, []string{"PriorityClass"}},
		{tektonv1.SchemeGroupVersion, meta.RESTScopeNamespace, []string{"PipelineRun", "TaskRun"}},
		{tektonv1beta1.SchemeGroupVersion, meta.RESTScopeNamespace, []string{"CustomRun"}},
		{kueue.SchemeGroupVersion, meta.RESTScopeNamespace, []string{"LocalQueue", "Workload"}},
		{kueue.SchemeGroupVersion, meta.RESTScopeRoot, []string{"AdmissionCheck", "ClusterQueue", "ResourceFlavor",
			"WorkloadPriorityClass"}},
	} {
		for _, kind := range of.kinds {
			known.Add(of.group.WithKind(kind), of.scope)
		}
	}
	others, err := apiutil.NewDynamicRESTMapper(config, client)
	if err != nil {
		return nil, err
	}
	return meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{known, others}}, nil
}
