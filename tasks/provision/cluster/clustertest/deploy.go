package clustertest

import (
	"encoding/json"
	"fmt"
	"time"
)

// Pod makes a pod of a Deployment, with a status given as JSON.
func (s *Server) Pod(deployment Object, n int, status string) Object {
	var st Object
	if err := json.Unmarshal([]byte(status), &st); err != nil {
		panic(err)
	}
	spec, _ := deployment["spec"].(Object)
	template, _ := spec["template"].(Object)
	pod := Object{"apiVersion": "v1", "kind": "Pod", "status": st, "spec": template["spec"], "metadata": Object{
		"name": fmt.Sprintf("%s-5f-%d", name(deployment), n), "uid": fmt.Sprintf("uid-%d", n), "labels": meta(template)["labels"],
		"creationTimestamp": time.Now().UTC().Format(time.RFC3339),
	}}
	s.Put("pods", pod)
	return pod
}

// Available marks every pod of a Deployment as one that can be asked.
func (s *Server) Available(deployment Object) {
	spec, _ := deployment["spec"].(Object)
	n := spec["replicas"]
	deployment["status"] = Object{"replicas": n, "updatedReplicas": n, "readyReplicas": n, "availableReplicas": n}
	s.Put("deployments", deployment)
}
