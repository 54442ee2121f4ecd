package compile

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"bflow.dev/bflow/generator/shard"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Select makes a matrix of some points of another one, from 0, in the order of keep: the very runs again. What runs
// share is on the cluster already.
func Select(parent *tektonv1.PipelineRun, points *shard.Points, keep []int) (MatrixObjects, error) {
	w := shard.NewWriter(0)
	for _, i := range keep {
		point, err := points.Point(i)
		if err != nil {
			return MatrixObjects{}, fmt.Errorf("taking points of matrix %s: %w", parent.Name, err)
		}
		if err := w.Add(point); err != nil {
			return MatrixObjects{}, err
		}
	}
	pieces, err := w.Close()
	if err != nil {
		return MatrixObjects{}, err
	}
	meta := metav1.ObjectMeta{Namespace: parent.Namespace, Labels: maps.Clone(parent.Labels),
		GenerateName: parent.Name + "-",
		Annotations:  map[string]string{contract.AnnotationName: parent.Annotations[contract.AnnotationName]}}
	maps.DeleteFunc(meta.Labels, func(key, _ string) bool {
		// whoever started that one did not start this
		return strings.HasPrefix(key, "tekton.dev/") || key == contract.LabelParent
	})
	out := MatrixObjects{Points: len(keep)}
	bare := *meta.DeepCopy()
	bare.GenerateName = ""
	if out.Plans, err = plansOf(pieces, bare); err != nil {
		return MatrixObjects{}, err
	}
	out.Parent = &tektonv1.PipelineRun{TypeMeta: metav1.TypeMeta{APIVersion: "tekton.dev/v1", Kind: "PipelineRun"},
		ObjectMeta: meta, Spec: *parent.Spec.DeepCopy()}
	out.Parent.Spec.Status = ""
	for _, key := range []string{contract.AnnotationModel, contract.AnnotationTTL, contract.AnnotationResultsSize} {
		if value, ok := parent.Annotations[key]; ok {
			metav1.SetMetaDataAnnotation(&out.Parent.ObjectMeta, key, value)
		}
	}
	metav1.SetMetaDataAnnotation(&out.Parent.ObjectMeta, contract.AnnotationLoad, loadOf(len(keep)))
	values := map[string]string{contract.ParamPlans: pieces[0].Header.Root,
		contract.ParamPieces: strconv.Itoa(len(pieces)), contract.ParamPoints: strconv.Itoa(len(keep))}
	for i := range out.Parent.Spec.PipelineSpec.Tasks {
		for j := range out.Parent.Spec.PipelineSpec.Tasks[i].Params {
			p := &out.Parent.Spec.PipelineSpec.Tasks[i].Params[j]
			if v, ok := values[p.Name]; ok {
				p.Value = *tektonv1.NewStructuredValues(v)
			}
		}
	}
	return out, nil
}
