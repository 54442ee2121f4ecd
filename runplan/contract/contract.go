// Package contract holds the names that Pipelines, Tasks, task binaries and the local executor share: tasks, params,
// results, workspaces, labels, exit codes and the files of a run directory. It must contain no behaviour beyond
// constructing names, and it imports nothing.
package contract

// Tasks of a run, in the order in which they run. Each is also the name of a binary, except
// Release and Finish, which are steps of the binaries provision and mlflow-push.
const (
	Provision  = "provision"
	Smoketest  = "smoketest"
	LoadGen    = "load-gen"
	Release    = "release"
	Collect    = "collect"
	MLflowPush = "mlflow-push"
	Finish     = "finish"
)

// Binaries are the programs a step of ours may name in command[0], without the leading slash.
func Binaries() []string { return []string{Provision, Smoketest, LoadGen, Collect, MLflowPush} }

// Params of the Pipeline and its Tasks.
const (
	ParamRunID       = "run-id"
	ParamAttempt     = "attempt"
	ParamEndpoint    = "endpoint"
	ParamMeasurement = "measurement" // index into RunPlan.measurements, from 0

	ParamAPIKeySecret     = "api-key-secret"    // name of the Secret with the key of the server under test
	ParamAPIKeyKey        = "api-key-key"       // key in it
	ParamStatus           = "status"            // finish: how the tasks of the DAG ended, in the words of $(tasks.status)
	ParamTeardownDeadline = "teardown-deadline" // finish: bound of provision down, a Go duration
	// finish: the reasons why load-gen tasks ended, in the order of the measurements, by commas
	ParamLoads            = "loads"
	ParamFinalizeDeadline = "finalize-deadline" // finish: bound of mlflow-push finalize, a Go duration
)

// Experiment is the Pipeline, and its one Task, that starts runs of an experiment: for the console, tkn and Triggers.
const Experiment = "bflow-experiment"

// Params of Pipeline Experiment. Its task reads them from the PipelineRun: none of them is ever an argument.
const (
	ParamExperiment  = "experiment"   // text of the file
	ParamGitURL      = "git-url"      // repository that holds the file, instead of its text
	ParamRevision    = "revision"     // branch, tag or commit; "" = the default branch
	ParamPath        = "path"         // of the file in the repository, or several
	ParamOverrides   = "overrides"    // PATH=VALUE, one a line, as bflow run --set
	ParamTrustedOnly = "trusted-only" // true: only commits of a branch of the repository itself
	ParamWait        = "wait"         // true: until the verdict
	ParamLoadCPU     = "load-cpu"     // as bflow run --load-cpu
	ParamBundle      = "bundle"       // as bflow run --bundle
)

// A matrix: a parent PipelineRun with a CustomRun of this kind, for which there is no CRD, and the tasks around it.
const (
	MatrixAPIVersion = Prefix + "v1alpha1"
	MatrixKind       = "Matrix"
	RoleMatrix       = "matrix" // value of LabelRole on the parent, which its CustomRun inherits

	MatrixBegin     = "begin"     // pipeline task: makes the MLflow run of the matrix
	MatrixChildren  = "children"  // pipeline task: the CustomRun
	MatrixAggregate = "aggregate" // finally task: one page over all runs

	ParamPlans       = "plans"         // root digest over the pieces that hold the points: PlansConfigMap names them
	ParamPieces      = "pieces"        // how many they are
	ParamPoints      = "points"        // how many points they hold
	ParamMaxParallel = "max-parallel"  // runs that may be there and not at their end; 0 = what keeps the queues busy
	ParamFailFast    = "fail-fast"     // true: after a failure nothing more starts
	ParamMLflowRun   = "mlflow-parent" // MLflow run of the matrix; empty without a tracking server
)

// Steps of MLflowPush.
const (
	StepPush    = "push"    // what was measured, to the tracking server
	StepVerdict = "verdict" // ends with the exit code of the run
)

// Results. Each stays under 1 KiB: results travel in the termination message (4 KiB per container).
const (
	ResultReason = "reason" // provision: why it failed, in one sentence; absent when it did not
	// of a task on a remote target: how the target took it away; absent when it did not
	ResultLost        = "lost"
	ResultEndpoint    = "endpoint"      // provision: base URL of the server under test, without a trailing slash
	ResultMLflowRunID = "mlflow-run-id" // mlflow-push; empty without a tracking server
	ResultMLflowURL   = "mlflow-url"    // mlflow-push; empty without a tracking server
	ResultVerdict     = "verdict"       // mlflow-push and Experiment: one of the words of package verdict
	ResultRuns        = "runs"          // Experiment: names of the runs, by commas
	ResultPlanHashes  = "plan-hashes"   // Experiment: of the runs, in their order
)

// Workspaces.
const (
	WorkspacePlan   = "plan"   // the ConfigMap that holds plan.json or plan.json.gz
	WorkspaceRun    = "run"    // the run directory
	WorkspaceTarget = "target" // kubeconfig of a remote target, optional
	// WorkspaceSecrets holds the values of the Secrets that the plan refers to, as NAME/KEY; bound only where it refers to
	// any.
	WorkspaceSecrets = "secrets"
)

// Reasons why a task fell, as finish is told them: Tekton's words, and one of the local executor, which knows of a
// process that signal 9 ended and not always who sent it.
const (
	ReasonStepOOM    = "StepOOM"
	ReasonStepFailed = "StepFailed"
	ReasonPodEvicted = "PodEvicted"
	ReasonStepKilled = "StepKilled"
)

// Exit codes of every binary. Several at once: the first of 2, 3, 1, 4, 5, 6.
const (
	ExitPass         = 0
	ExitFail         = 1
	ExitUsage        = 2 // bad flags or an invalid file
	ExitUnhealthy    = 3 // the system under test is not fit to be measured
	ExitInvalid      = 4 // the measurement must not be believed
	ExitBreach       = 5 // an objective is missed
	ExitInconclusive = 6
	ExitInterrupted  = 130
)

// Labels and annotations, all on objects made for a run.
const (
	Prefix          = "bflow.dev/"
	LabelExperiment = Prefix + "experiment"
	LabelRun        = Prefix + "run"
	LabelAttempt    = Prefix + "attempt"
	LabelPlanHash   = Prefix + "plan-hash"
	LabelTarget     = Prefix + "target"
	LabelRelease    = Prefix + "release"
	LabelRole       = Prefix + "role"
	LabelManagedBy  = "app.kubernetes.io/managed-by"
	ManagedBy       = "bflow"
	// LabelPart, on objects of an installation, says which part of it they belong to. (app.kubernetes.io/part-of is taken:
	// Tekton and its Services select by it.)
	LabelPart          = Prefix + "part"
	PartBflow          = "bflow"
	LabelPoint         = "benchflow.io/matrix-child-index" // of runs of a matrix only; the name is the format's
	AnnotationRequests = Prefix + "requests"
	// on a PipelineRun: how its pods share what it requests, as JSON: [{"count":2,"requests":{"nvidia.com/gpu":"4"}}]
	AnnotationPods     = Prefix + "pods"
	AnnotationSetupKey = Prefix + "setup-key"
	// on a PipelineRun: URL of the Prometheus that collect asks, where it is https
	AnnotationMetrics = Prefix + "prometheus"
	AnnotationName    = Prefix + "experiment" // the name as written, which a label may not be able to hold
	AnnotationModel   = Prefix + "model"      // for people: name of the model
	AnnotationLoad    = Prefix + "load"       // for people: what is measured, as RunPlan.Load says it

	// UID of the namespace kube-system of the hub, on every object on a target
	LabelHub           = Prefix + "hub"
	LabelEnabled       = Prefix + "enabled"        // "true" on a namespace where runs may live
	LabelForRuns       = Prefix + "for-runs"       // "true" on a ServiceAccount that an experiment may name for its tasks
	LabelAllowUnqueued = Prefix + "allow-unqueued" // "true" on a namespace where runs may start without a queue
	LabelQueue         = "kueue.x-k8s.io/queue-name"
	LabelPriority      = "kueue.x-k8s.io/priority-class"
	AnnotationAdmitted = Prefix + "admitted" // on a PipelineRun: RFC 3339 time at which it was let start
	AnnotationFreed    = Prefix + "freed"    // on a PipelineRun: time since which no pod of the run holds a device
	// on a PipelineRun: time since which nothing of the run is left on its target
	AnnotationReleased = Prefix + "released"
	AnnotationCancel   = Prefix + "cancelling" // on a PipelineRun: somebody wants its end, so it is never let start
	AnnotationReason   = Prefix + "reason"     // on a PipelineRun: why it waits, in one sentence
	// on a PipelineRun: its quota is given back as soon as it is over, whatever is left on its target
	AnnotationForce = Prefix + "force"
	// on a PipelineRun with a setup key, and on LeasePlatform: a number that grows; provision changes a platform only
	// where both are the same
	AnnotationFence = Prefix + "fence"
	// on a run: name of the PipelineRun of Experiment that started it, which is its owner
	LabelParent      = Prefix + "parent"
	AnnotationSource = Prefix + "source" // on a run of Experiment: where its file came from, as URL@COMMIT:PATH
	// on a PipelineRun of Experiment, and on its runs: who or what started it, in words
	AnnotationStarted = Prefix + "started-by"
	Finalizer         = Prefix + "release" // on a PipelineRun, from admission until it is released
	LabelMatrix       = Prefix + "matrix"  // on a run of a matrix: name of its parent, a PipelineRun without a queue
	AnnotationPoint   = Prefix + "point"   // on a run of a matrix: its place in the order of the points, from 1
	// FinalizerMatrix is on a run of a matrix until its end is written down, and on the CustomRun of a matrix until every
	// run of it is released: so none is made twice, and none goes unseen. On the parent of a matrix with an MLflow run it
	// is until that is ended.
	FinalizerMatrix = Prefix + "matrix"
	// AnnotationAdmittedTo, on a PipelineRun that was let start, is the target where that was: there it is released,
	// whatever its label says.
	AnnotationAdmittedTo = Prefix + "admitted-to"
	// AnnotationWorkload, on a PipelineRun, is its Workload where the controller makes that itself.
	AnnotationWorkload = "kueue.x-k8s.io/prebuilt-workload-name"
	// AnnotationMLflowParent, on a run of a matrix, is the MLflow run that its own belongs below.
	AnnotationMLflowParent = Prefix + "mlflow-parent"

	// LabelToken, on a TaskRun, asks the controller for a token of AccountSubmit: its value is TokenSubmit. Forms and
	// commands that start a Pipeline let few people choose an account.
	LabelToken          = Prefix + "token"
	TokenSubmit         = "submit"
	AnnotationTokenBond = Prefix + "token-bond" // on such a TaskRun: UID of SubmitBond, with which its tokens end

	// AnnotationDirty, on the ResourceFlavor of a target, names the runs that were released by force and may still hold
	// devices there: namespace/run, separated by commas.
	AnnotationDirty = Prefix + "dirty"
	// AnnotationOwed, on the ResourceFlavor of a target, names the GrantSecrets there that could not be deleted when their
	// runs were released by force: namespace/name, separated by commas. As long as there is one, no mark of
	// AnnotationDirty is taken away.
	AnnotationOwed = Prefix + "owed-grants"

	// AnnotationResume on a PipelineTask's Task says what resuming a run does with it.
	// ResumeRepeat: its effect died with the executor (a deployment, a check of it); it runs again whenever a
	// ResumeRestart task has not finished. ResumeRestart: it needs that effect, and starts again whole.
	// Without the annotation a finished task is kept and an unfinished one runs.
	AnnotationResume = Prefix + "resume"
	ResumeRepeat     = "repeat"
	ResumeRestart    = "restart"
)

// Files and folders of a run directory, relative to it.
const (
	FilePlan       = "plan.json"
	FileSmoketest  = "smoketest.json"
	FileReport     = "report.json"
	FileReportHTML = "report.html"
	FileReportV02  = "benchmark_report_v0.2.yaml"
	FileSummary    = "summary.csv"
	FileVerdict    = "verdict.json"
	FileEvents     = "events.jsonl"
	// collect, and load-gen in measurements/<n>/: what the files hold, see package checksums
	FileChecksums  = "checksums.json"
	DirMetrics     = "metrics"
	DirMeasurement = "measurements" // measurements/<n>/, n from 0
	DirSource      = "source"       // of an imported run: the files it was made from

	FileEndpoint   = "deployment/endpoint.json"     // provision: what was deployed and how it answers
	FileProcesses  = "deployment/processes.json"    // provision: processes it started on this host
	FileEngineExit = "deployment/exit.json"         // provision: how the engine ended, where it ended by itself
	FileEngineLog  = "deployment/engine.log"        // provision: what the engine printed, and its supervisor
	FileLastScrape = "deployment/metrics-last.prom" // provision: the engine's metrics as they stood when it was taken down
	FileRequests   = "requests.jsonl.gz"            // in measurements/<n>/
	FileStages     = "stages.jsonl"
	FileHistograms = "histograms.bin"
	FileLoadGen    = "loadgen.json"
	AttemptPrefix  = "attempt-" // in measurements/<n>/: begins the name of a folder that keeps an earlier attempt
)

// Environment of steps that holds credentials: from Secrets on a cluster, from the caller's environment on a host.
const (
	EnvAPIKey         = "BFLOW_API_KEY" // of the server under test
	EnvMLflowURI      = "MLFLOW_TRACKING_URI"
	EnvMLflowToken    = "MLFLOW_TRACKING_TOKEN"
	EnvMLflowUsername = "MLFLOW_TRACKING_USERNAME"
	EnvMLflowPassword = "MLFLOW_TRACKING_PASSWORD"
	// Not credentials, but they belong to the same server.
	EnvMLflowWorkspace   = "MLFLOW_WORKSPACE"
	EnvMLflowInsecureTLS = "MLFLOW_TRACKING_INSECURE_TLS"

	SecretMLflow = "bflow-mlflow" // Secret beside the run whose keys are the MLflow variables above, each optional
)

// Environment that the local executor sets for the steps it starts.
const (
	// EnvLifeline is the number of an inherited file descriptor: the read end of a pipe whose write end only the
	// executor holds. End of file means that the executor is gone, however it ended.
	EnvLifeline = "BFLOW_LIFELINE_FD"
	// EnvSelf is the path of the bflow binary, for a step that has to start a sibling (sim-engine).
	EnvSelf = "BFLOW_SELF"
	// EnvRunDir is the absolute run directory. A process that carries it belongs to the run: the executor ends what
	// is left of a run by it, so a task hands it on to what it starts in the background.
	EnvRunDir = "BFLOW_RUN_DIR"
	// EnvHostHome and EnvHostTmp are the HOME and TMPDIR of the person who runs bflow. Steps have private folders that go
	// away with the task; a server of theirs (engine command) outlives it, and wants its caches.
	EnvHostHome = "BFLOW_HOST_HOME"
	EnvHostTmp  = "BFLOW_HOST_TMPDIR"
)

// What bootstrap puts into a namespace of runs, and the controller beside each run.
const (
	NamespaceSystem = "bflow-system" // the controller and the credentials of targets
	ConfigMapHub    = "bflow-hub"    // beside the runs: key HubKey holds the identity of the hub
	HubKey          = "hub"
	HubPlatform     = "platform"   // key of ConfigMapHub: kubernetes or openshift
	HubImages       = "images"     // key of ConfigMapHub: registry and folder of bflow's images, as compile --image-prefix
	HubLoadNodes    = "load-nodes" // key of ConfigMapHub: node selector of task pods as a=b,c=d; empty for any node
	// key of ConfigMapHub: cores that a load generator asks for, on small nodes; empty for what its Task says
	HubLoadCPU = "load-cpu"
	EnvHub     = "BFLOW_HUB" // identity of the hub, in steps that make objects

	// Environment of the steps of provision, from the pod they run in. A host has none of it.
	EnvPipelineRun    = "BFLOW_PIPELINERUN"     // name of the PipelineRun, the owner of what is made beside it
	EnvPipelineRunUID = "BFLOW_PIPELINERUN_UID" // and its UID
	EnvNamespace      = "BFLOW_NAMESPACE"       // of the pod
	EnvTaskRun        = "BFLOW_TASKRUN"         // name of the TaskRun
	EnvNode           = "BFLOW_NODE"            // on which the pod runs
	EnvRequests       = "BFLOW_REQUESTS"        // annotation AnnotationRequests of the PipelineRun
	EnvTarget         = "BFLOW_TARGET"          // label LabelTarget of the PipelineRun: where the run was let start
	// annotation AnnotationFence of the PipelineRun; empty for a run that shares no platform
	EnvFence    = "BFLOW_FENCE"
	EnvSimImage = "BFLOW_SIM_IMAGE" // image of sim-engine, for plans that name none
	// annotation AnnotationMLflowParent of the PipelineRun; here of a matrix, from bflow run
	EnvMLflowParent = "BFLOW_MLFLOW_PARENT"

	SimEngine = "sim-engine"            // name of the simulated engine's binary and image
	TargetDir = "/var/run/bflow/target" // where a step of provision finds the content of TargetSecret

	AccountRunner     = "bflow-runner"     // task pods
	AccountController = "bflow-controller" // in NamespaceSystem
	AccountSubmit     = "bflow-submit"     // makes PipelineRuns and plans
	AccountLoad       = "bflow-load"       // no rights and no token
	AccountPicker     = "bflow-epp"        // endpoint pickers, which look for the pods of model servers
	AccountMetrics    = "bflow-metrics"    // in NamespaceSystem: whom Prometheus sees; no rights of ours
	AccountAgent      = "bflow-agent"      // in NamespaceSystem of a target: what the controller is there

	// ConfigMapPrometheus, in NamespaceSystem, lists the Prometheus servers that get a token: key PrometheusKey holds a
	// JSON array of PrometheusServer.
	ConfigMapPrometheus = "bflow-prometheus"
	PrometheusKey       = "servers.json"
	MetricsDir          = "/var/run/bflow/metrics" // where the step of collect finds the content of MetricsSecret

	SubmitDir = "/var/run/bflow/submit" // where a step finds KeyToken of SubmitSecret, and KeyCA of the API server
	// ConfigMapRootCA is what Kubernetes puts into each namespace: key KeyCA is the certificate authority of the API
	// server.
	ConfigMapRootCA = "kube-root-ca.crt"
	// SecretGit holds the credentials of git servers: a key is the name of a host, HOST_PORT where there is a port; its
	// value a token, or USER:PASSWORD.
	SecretGit = "bflow-git"
	GitDir    = "/var/run/bflow/git" // where the step finds it

	TargetLocal = "local" // the target that is the hub itself
	// Lease in NamespaceSystem of a target: its holder is the hub whose runs may use the platform, with AnnotationSetupKey
	LeasePlatform = "bflow-platform"
)

// Secrets that bflow makes of the credentials that an experiment holds literally.
const (
	SecretLiteral = "bflow-literal-"
	SecretAPIKey  = "bflow-api-key-"
)

// PrometheusServer is a server that an administrator trusts with a token of AccountMetrics.
type PrometheusServer struct {
	URL      string `json:"url"`                // https
	Audience string `json:"audience,omitempty"` // of the token; "" = the API server's
	CA       string `json:"ca,omitempty"`       // PEM, beside the authorities of the pod and of its image
}

// MetricsSecret is the name of the Secret with a token for the Prometheus server of a run. Keys: KeyURL, KeyToken and,
// where the server has one, KeyCA.
func MetricsSecret(run string) string { return "bflow-" + run + "-metrics" }

// MetricsBond is the name of the empty Secret in NamespaceSystem to which the tokens of MetricsSecret are bound: they
// end when it is deleted. uid is that of the PipelineRun.
func MetricsBond(uid string) string { return "bflow-metrics-" + uid }

// SubmitSecret is the name of the Secret with the token of a TaskRun that asks for one by LabelToken. Key: token.
func SubmitSecret(taskRun string) string { return "bflow-" + taskRun + "-submit" }

// SubmitBond is the name of the empty Secret to which the tokens of a TaskRun are bound: they end when it is deleted.
func SubmitBond(taskRun string) string { return SubmitSecret(taskRun) + "-bond" }

// ResultConfigMap is the name of the ConfigMap that sums a run up: headline, verdict, links; at most 32 KiB.
func ResultConfigMap(run string) string { return "bflow-result-" + run }

// PlansConfigMap is the name of piece n, from 0, of the points of a matrix whose root digest is digest.
func PlansConfigMap(digest string, n int) string {
	return "bflow-plans-" + digest[:12] + "-" + decimal(n)
}

// decimal is n in digits: this package imports nothing.
func decimal(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return decimal(n/10) + string(rune('0'+n%10))
}
