package platform_test

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runplan"
)

// NodePort are the fields that files have under nodeport.
type NodePort struct {
	Port int `json:"port" req:"true" min:"30000" max:"32767" doc:"port of the server on every node"`
}

// nodePort is a Deployment whose Service has a port on every node, for clients outside of the cluster.
func nodePort() platform.Platform {
	const name = "nodeport"
	return platform.Platform{
		Name: name, About: "model servers behind a port of every node",
		Modes: []platform.Mode{{Name: "plain"}},
		Own:   NodePort{},
		Check: func(b *platform.Block) (out problem.Findings) {
			if platform.OwnOf[NodePort](b, name).Port == 0 {
				out.Add(name, "required field is missing: platform nodeport needs it")
			}
			return out
		},
		NeedsImage: func(*platform.Block) bool { return true },
		Identity:   func(d *runplan.Deployment) { platform.DropOwn(d, name) }, // the port does not change what is measured

		Kinds: []string{"Deployment", "Service"},
		Objects: func(r platform.Release) ([]runtime.Object, error) {
			var own NodePort
			if err := platform.ReadOwn(&r.Plan.Deployment, name, &own); err != nil {
				return nil, err
			}
			service := r.Service()
			service.Spec.Type, service.Spec.Ports[0].NodePort = corev1.ServiceTypeNodePort, int32(own.Port)
			return []runtime.Object{service, r.Deployment()}, nil
		},
		Ready: platform.DeploymentsReady,
	}
}
