package matrix

import (
	"fmt"
	"regexp"
	"strconv"

	"bflow.dev/bflow/runplan/contract"

	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Bounds of what a CustomRun may ask for.
const (
	mostPoints = 99_999
	mostPieces = 500
)

// order is what a CustomRun asks for.
type order struct {
	rules
	root           string
	pieces, points int
	mlflow         string // run that those of the children belong below
}

// Ours says whether a CustomRun is a matrix. Others are never touched.
func Ours(cr *tektonv1beta1.CustomRun) bool {
	ref := cr.Spec.CustomRef
	return ref != nil && ref.APIVersion == contract.MatrixAPIVersion && string(ref.Kind) == contract.MatrixKind
}

var rootDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)

func orderOf(cr *tektonv1beta1.CustomRun) (order, error) {
	text := map[string]string{}
	for _, p := range cr.Spec.Params {
		text[p.Name] = p.Value.StringVal
	}
	o := order{root: text[contract.ParamPlans], mlflow: text[contract.ParamMLflowRun]}
	if !rootDigest.MatchString(o.root) {
		return o, fmt.Errorf("reading param %q: %q is not a digest of points; compile the matrix again", contract.ParamPlans,
			o.root)
	}
	for _, p := range []struct {
		name      string
		into      *int
		low, high int
	}{
		{contract.ParamPieces, &o.pieces, 1, mostPieces},
		{contract.ParamPoints, &o.points, 1, mostPoints},
		{contract.ParamMaxParallel, &o.maxParallel, 0, mostPoints},
	} {
		n, err := strconv.Atoi(text[p.name])
		if err != nil || n < p.low || n > p.high {
			return o, fmt.Errorf("reading param %q: %q is not a number from %d to %d", p.name, text[p.name], p.low, p.high)
		}
		*p.into = n
	}
	o.failFast = text[contract.ParamFailFast] == "true"
	return o, nil
}

// parentOf is the PipelineRun that a matrix stands in, as its owner; nil for one that somebody made alone.
func parentOf(cr *tektonv1beta1.CustomRun) *metav1.OwnerReference {
	if owner := metav1.GetControllerOf(cr); owner != nil && owner.Kind == "PipelineRun" {
		return owner
	}
	return nil
}

// nameOf is that of the matrix, which the names of its runs begin with.
func nameOf(cr *tektonv1beta1.CustomRun) string {
	if parent := parentOf(cr); parent != nil {
		return parent.Name
	}
	return cr.Name
}
