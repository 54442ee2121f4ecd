package contract

// Annotations of TargetCredentials; the first two are also on a TaskRun with LabelToken.
const (
	AnnotationTokenExpires = Prefix + "token-expires" // when the token ends, RFC 3339
	AnnotationTokenRenew   = Prefix + "token-renew"   // when the controller asks for another one: half of its life is over
	AnnotationHostAliases  = Prefix + "host-aliases"  // JSON, name of a host to its address, where no name server knows it
	AnnotationTargetUID    = Prefix + "target-uid"    // UID of the target's kube-system
	// a=b,c=d: labels of the nodes that are the target; without it all are
	AnnotationNodes     = Prefix + "nodes"
	AnnotationLoadNodes = Prefix + "load-nodes" // a=b,c=d: node selector of the Jobs of tasks there
)

// What a run says that may go to several targets; its controller puts it into the queue of one.
const (
	TargetAny                = "any"                      // name of the target, and of the queue, of a run that names none
	AnnotationTargets        = Prefix + "targets"         // names, separated by commas, the most wanted first
	AnnotationTargetSelector = Prefix + "target-selector" // a=b,c=d: labels of the ResourceFlavors of targets
	AnnotationChosen         = Prefix + "chosen"          // which one it was, and why, in one sentence
	// of what a target keeps of a run for the next: weights and images of the engine
	AnnotationCacheKey = Prefix + "cache-key"
)

// ResourceSlot is a quota that every run asks for. A target has TargetSlots of it: a shared run takes one, an exclusive
// run all, so that nothing runs beside it.
const (
	ResourceSlot = Prefix + "cluster-slot"
	TargetSlots  = 100
)

// TargetCredentials is the name, in NamespaceSystem of the hub, of the Secret with the way to a target. Its label
// LabelTarget is the target; keys: kubeconfig (which names the other two as files), token and ca.crt.
func TargetCredentials(target string) string { return "bflow-target-" + target }

// TargetCheck is the name of the AdmissionCheck of a target. Its ResourceFlavor, ClusterQueue and LocalQueues have the
// name of the target itself.
func TargetCheck(target string) string { return "bflow-" + target }

// What a task that runs on a remote target has there: a Job, and beside it a ConfigMap and a Secret of the same name.
const (
	LabelJob      = Prefix + "job" // on the Job and its pod: name of the Job
	RoleEngine    = "engine"       // of a pod of the server under test
	RoleRouter    = "router"       // of the pod that chooses the pod of the server for each request
	RoleResults   = "results"      // of a pod that serves the results of a run
	RoleDoctor    = "doctor"       // of the pod of bflow doctor
	RoleLoad      = "load"         // LabelRole of the Job of load-gen
	RoleSmoketest = "smoketest"    // of smoketest
	RoleCollect   = "collect"      // and of collect
)

// Keys of the Secrets with the way to a target: that of the hub, and that of a run. The kubeconfig names the next two
// as files beside it; the last says that the target is the cluster of the task itself.
const (
	KeyKubeconfig = "kubeconfig"
	KeyToken      = "token"
	KeyCA         = "ca.crt"
	KeyURL        = "url" // of MetricsSecret: the server that its token is for
	KeyInCluster  = "in-cluster"
	KeyNodes      = "nodes"      // of a run: labels of the nodes that are the target, as a=b,c=d; without it all are
	KeyLoadNodes  = "load-nodes" // of a run: node selector of the Jobs of its tasks, as a=b,c=d
)

// GrantSecret is the name of the Secret on a remote target that the token of an attempt of a run is bound to: the token
// is good as long as it is there. uid is that of the PipelineRun. It holds nothing.
func GrantSecret(uid string) string { return "bflow-grant-" + uid }

// TargetSecret is the name of the Secret with the way to the target of a run. Keys: kubeconfig, token and ca.crt, or
// in-cluster where the target is the hub.
func TargetSecret(run string) string { return "bflow-" + run + "-target" }
