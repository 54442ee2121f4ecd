//go:build e2e

package cluster

// podWithGPUs is what a template of pods says.
const podWithGPUs = `{containers: [{name: c, image: busybox, resources: {limits: {nvidia.com/gpu: "1"}},
  securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}],
  securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}}`

// attempts are those that neither edit nor bflow-user may succeed with.
func attempts() []attempt {
	return []attempt{
		// What others keep secret.
		{name: "reads Secrets of bflow-system", args: "get secrets -n bflow-system"},
		{name: "reads Secrets of another team", args: "get secrets -n benchflow"},
		{name: "reads Secrets of all namespaces", args: "get secrets -A"},
		{name: "reads Secrets through a raw path", args: "get --raw /api/v1/namespaces/bflow-system/secrets"},
		{name: "watches Secrets of bflow-system", args: "get secrets -n bflow-system --watch --request-timeout=5s"},
		{name: "reads ConfigMaps of another team", args: "get configmaps -n benchflow"},
		{name: "reads logs of the controller", args: "logs -n bflow-system deployment/bflow-controller"},
		{name: "runs a command in the controller", args: "exec -n bflow-system deployment/bflow-controller -- true"},
		{name: "reads results of another team", args: "get --raw /api/v1/namespaces/benchflow/pods/any:8080/proxy/"},

		// Accounts outside their own namespace.
		{name: "takes a token of the controller", args: "create token bflow-controller -n bflow-system"},
		{name: "takes a token of another team's runner", args: "create token bflow-runner -n benchflow"},
		{name: "takes a token of another team's submit account", args: "create token bflow-submit -n benchflow"},
		{name: "acts as the controller",
			args: "get pods -n bflow-system --as system:serviceaccount:bflow-system:bflow-controller"},
		{name: "acts as an administrator", args: "get pods -n bflow-system --as root --as-group system:masters"},
		{name: "acts as Tekton's controller",
			args: "get pods -n benchflow --as system:serviceaccount:tekton-pipelines:tekton-pipelines-controller"},
		{name: "binds itself to the controller's rights",
			args: "create rolebinding x -n TEAM --clusterrole bflow-controller --serviceaccount TEAM:default"},
		{name: "becomes an administrator",
			args: "create clusterrolebinding x --clusterrole cluster-admin --serviceaccount TEAM:default"},
		{name: "gives the runner more rights", args: "create role x -n TEAM --verb create --resource pods"},

		// Runs of its own, past the queue.
		{name: "lets a run of its own start",
			args:   `patch pipelinerun OWN -n TEAM --type merge -p '{"spec":{"status":""}}'`,
			refuse: "started by bflow-controller only"},
		{name: "makes a run that does not wait", args: "create -n TEAM", file: runOf("", "", "", ""),
			refuse: "created with spec.status PipelineRunPending"},
		{name: "makes a run without a queue", args: "create -n TEAM", file: runOf("-", "", "", ""),
			refuse: "allow-unqueued=true"},
		{name: "makes a run that was admitted", args: "create -n TEAM",
			file: runOf("", "", "bflow.dev/admitted: now", "PipelineRunPending"), refuse: "bflow-controller only"},
		{name: "makes a run that has freed its devices", args: "create -n TEAM",
			file: runOf("", "", "bflow.dev/freed: now", "PipelineRunPending"), refuse: "bflow-controller only"},
		{name: "makes a run by another's name", args: "create -n TEAM",
			file: runOf("", "bflow.dev/run: other", "", "PipelineRunPending"), refuse: "bflow-controller"},
		{name: "makes a further attempt", args: "create -n TEAM",
			file: runOf("", "bflow.dev/attempt: '2'", "", "PipelineRunPending"), refuse: "bflow-controller"},
		{name: "says that a run of its own is released",
			args: "annotate pipelinerun STARTED -n TEAM bflow.dev/released=now", refuse: "bflow-controller only"},
		{name: "says that its devices are free", args: "annotate pipelinerun STARTED -n TEAM bflow.dev/freed=now",
			refuse: "bflow-controller only"},
		{name: "says that a run that waits was admitted",
			args: "annotate pipelinerun OWN -n TEAM bflow.dev/admitted=now", refuse: "bflow-controller only"},
		{name: "asks for less than it holds",
			args: "annotate --overwrite pipelinerun STARTED -n TEAM bflow.dev/requests={}", refuse: "never change"},
		{name: "moves a started run to another target",
			args: "label --overwrite pipelinerun STARTED -n TEAM bflow.dev/target=worker", refuse: "bflow.dev/target"},
		{name: "moves a started run to another queue",
			args:   "label --overwrite pipelinerun STARTED -n TEAM kueue.x-k8s.io/queue-name=other",
			refuse: "only while it waits"},
		{name: "takes the finalizer",
			args:   `patch pipelinerun STARTED -n TEAM --type merge -p '{"metadata":{"finalizers":[]}}'`,
			refuse: "belongs to bflow-controller"},
		{name: "names a started run as another's",
			args:   "label --overwrite pipelinerun STARTED -n TEAM bflow.dev/run=other",
			refuse: "bflow.dev/run|never change"},
		{name: "has a started run forgotten", args: "label pipelinerun STARTED -n TEAM bflow.dev/plan-hash-",
			refuse: "never change"},
		{name: "makes a Workload that is admitted", args: "create -n TEAM", file: workload},
		{name: "changes the Workload of a run",
			args: `patch workload WORKLOAD -n TEAM --type merge -p '{"spec":{"active":false}}'`},
		{name: "opens the queue of the target",
			args: `patch clusterqueue local --type merge -p '{"spec":{"stopPolicy":"None"}}'`},
		{name: "gives the target more devices",
			args: `patch clusterqueue local --type json -p '[{"op":"remove","path":"/spec/resourceGroups"}]'`},
		{name: "takes the queue of another target", args: "create -n TEAM", file: `{apiVersion: ` +
			`kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: mine}, spec: {clusterQueue: local}}`},
		{name: "lets runs of its namespace start without a queue",
			args: "label namespace TEAM bflow.dev/allow-unqueued=true"},
		{name: "takes the policy away", args: "delete validatingadmissionpolicy bflow-runs"},
		{name: "takes the policy's binding away", args: "delete validatingadmissionpolicybinding bflow-runs"},
		{name: "takes the controller's Lease", args: "delete lease -n bflow-system bflow-controller"},
		{name: "reads the Lease of platforms", args: "get leases -n bflow-system"},
		{name: "starts a pod with devices", args: "create -n TEAM",
			file: `{apiVersion: v1, kind: Pod, metadata: {name: thief}, spec: ` + podWithGPUs + `}`, refuse: "devices"},

		// Runs of others.
		{name: "deletes a run of another team", args: "delete pipelinerun OTHER -n benchflow"},
		{name: "cancels a run of another team",
			args: `patch pipelinerun OTHER -n benchflow --type merge -p '{"spec":{"status":"Cancelled"}}'`},
		{name: "starts a run of another team", args: "create -n benchflow", file: runOf("", "", "", "PipelineRunPending")},
		{name: "reads runs of another team", args: "get pipelineruns -n benchflow"},
		{name: "deletes a plan of another team", args: "delete configmap any -n benchflow"},
		{name: "deletes a server of another team", args: "delete deployment any -n benchflow"},
		{name: "deletes another team's namespace", args: "delete namespace benchflow"},
		{name: "stops the controller", args: "scale -n bflow-system deployment/bflow-controller --replicas 0"},
	}
}

// onlyEdit are those that need the rights of edit to be tried, and what edit keeps.
func onlyEdit() []attempt {
	deploys := func(kind, version string) string {
		return `{apiVersion: ` + version + `, kind: ` + kind + `, metadata: {name: thief}, spec: {selector: {matchLabels: {a: b}},
  template: {metadata: {labels: {a: b}}, spec: ` + podWithGPUs + `}}}`
	}
	return []attempt{
		{name: "deploys what asks for devices", args: "create -n TEAM",
			file: deploys("Deployment", "apps/v1"), refuse: "devices"},
		{name: "makes a set that asks for devices", args: "create -n TEAM",
			file: deploys("ReplicaSet", "apps/v1"), refuse: "devices"},
		{name: "makes a StatefulSet that asks for devices", args: "create -n TEAM",
			file: deploys("StatefulSet", "apps/v1"), refuse: "devices"},
		{name: "makes a Job that asks for devices", args: "create -n TEAM",
			file: `{apiVersion: batch/v1, kind: Job, metadata: {name: thief}, spec: {template: {spec: ` +
				podWithGPUs[:len(podWithGPUs)-1] + `, restartPolicy: Never}}}}`, refuse: "devices"},
		{name: "starts a pod as the controller's account", args: "create -n TEAM", file: `{apiVersion: v1, kind: Pod, metadata: {name: thief},
  spec: {serviceAccountName: bflow-controller, containers: [{name: c, image: busybox}]}}`, refuse: `"bflow-controller" not found`},
		{name: "makes a TaskRun in another namespace", args: "create -n benchflow", file: `{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: thief},
  spec: {taskSpec: {steps: [{name: s, image: busybox, command: ["true"]}]}}}`},
		{name: "keeps the Secrets of its own namespace", args: "get secrets -n TEAM", kept: true},
		{name: "keeps the accounts of its own namespace", args: "create token bflow-runner -n TEAM", kept: true},
		{name: "keeps pods without devices", args: "create -n TEAM", file: `{apiVersion: v1, kind: Pod, metadata: {name: fine}, spec: {containers: [{name: c, image: busybox,
  securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}],
  securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}}}`, kept: true},
		{name: "keeps the way to cancel its own runs", args: `patch pipelinerun STARTED -n TEAM --type merge -p ` +
			`'{"spec":{"status":"CancelledRunFinally"}}'`, kept: true},
	}
}

// workload is one that holds quota.
const workload = `{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: thief}, spec: {queueName: local,
  podSets: [{name: main, count: 1, template: {spec: {containers: [{name: c, image: busybox}]}}}]}}`

// runOf is one of ours, in a queue unless that is "-", with one more label, one more annotation, and a status.
func runOf(queue, label, annotation, status string) string {
	labels := "bflow.dev/plan-hash: abc"
	if queue == "" {
		labels += ", kueue.x-k8s.io/queue-name: nowhere"
	}
	if label != "" {
		labels += ", " + label
	}
	annotations := `bflow.dev/requests: '{"nvidia.com/gpu":"1"}'`
	if annotation != "" {
		annotations += ", " + annotation
	}
	if status != "" {
		status = "status: " + status + ", "
	}
	return `{apiVersion: tekton.dev/v1, kind: PipelineRun, metadata: {name: thief, labels: {` + labels + `}, annotations: {` + annotations + `}},
  spec: {` + status + `pipelineSpec: {tasks: [{name: t, taskSpec: {steps: [{name: s, image: busybox, command: ["true"]}]}}]}}}`
}
