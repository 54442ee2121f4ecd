package remotetask

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/provision/cluster"
	"bflow.dev/bflow/tasks/step"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Subcommand is the argument of binary provision that launches a task on the target.
const Subcommand = "exec"

// Options are the flags.
type Options struct {
	step.Options
	Task            string
	Image           string // of the task
	FilesImage      string // of collect, which serves the files
	TargetDir       string
	TargetWorkspace string
	ReasonResult    string // where the result "reason" goes when the Job was lost
	LostResult      string // where the result "lost" goes when the target took the Job away
	Deadline        time.Duration
	Patience        time.Duration
	APIKey          runplan.SecretKey // on the target, where this step has no key itself

	CPU, Memory, MaxCPU, MaxMemory, Room resource.QuantityValue
	Args                                 []string // of the task, after the common ones
}

// Flags returns the flag set of the subcommand. What follows "--" are flags of the task.
func Flags(o *Options) *flag.FlagSet {
	fs := flag.NewFlagSet("provision "+Subcommand, flag.ContinueOnError)
	o.Register(fs)
	fs.StringVar(&o.Task, "task", "", "task to run on the target: load-gen, smoketest or collect")
	fs.StringVar(&o.Image, "image", "", "image of the task")
	fs.StringVar(&o.FilesImage, "files-image", "", "image of collect, which serves the files of the task")
	fs.StringVar(&o.TargetDir, "target-dir", "", "folder with the kubeconfig of the target cluster")
	fs.StringVar(&o.TargetWorkspace, "target-workspace", "", "another folder with a kubeconfig; takes precedence")
	fs.StringVar(&o.ReasonResult, "reason-result", "", "file to write result reason to if the task is lost")
	fs.StringVar(&o.LostResult, "lost-result", "",
		"file to write result lost to if the target evicted or deleted the task")
	fs.DurationVar(&o.Deadline, "deadline", 0,
		"end the task after this long (default: its timeout in the plan plus two outages)")
	fs.DurationVar(&o.Patience, "patience", runplan.Outage, "how long the target may be unreachable")
	fs.StringVar(&o.APIKey.Name, "api-key-secret", "",
		"Secret on the target with the API key of the server under test, if "+contract.EnvAPIKey+" is not set here")
	fs.StringVar(&o.APIKey.Key, "api-key-key", "", "key of that Secret")
	for _, q := range []struct {
		into              *resource.QuantityValue
		name, text, about string
	}{
		{&o.CPU, "cpu", "50m", "CPU request of the task"}, {&o.MaxCPU, "max-cpu", "1", "CPU limit of the task"},
		{&o.Memory, "memory", "64Mi", "memory request of the task"},
		{&o.MaxMemory, "max-memory", "512Mi", "memory limit of the task"},
		{&o.Room, "room", "10Gi", "size of the task's run directory"},
	} {
		q.into.Quantity = resource.MustParse(q.text)
		fs.Var(q.into, q.name, q.about)
	}
	return fs
}

// begin reads args and the plan; usage goes to errs.
func (o *Options) begin(args []string, errs io.Writer) (*runplan.RunPlan, error) {
	if i := slices.Index(args, "--"); i >= 0 {
		args, o.Args = args[:i], args[i+1:]
	}
	plan, err := o.Begin(Flags(o), args, errs)
	if err != nil {
		return nil, err
	}
	if role(o.Task) == "" {
		return nil, step.Usagef("reading flags: --task is %q, want %s, %s or %s", o.Task, contract.LoadGen,
			contract.Smoketest, contract.Collect)
	}
	return plan, step.CheckRequired("image", o.Image, "files-image", o.FilesImage)
}

// role is the value of contract.LabelRole for a task, "" where it is none that can run elsewhere.
func role(task string) string {
	switch task {
	case contract.LoadGen:
		return contract.RoleLoad
	case contract.Smoketest:
		return contract.RoleSmoketest
	case contract.Collect:
		return contract.RoleCollect
	default:
		return ""
	}
}

// ofTask reads what the task is told: the index of its measurement, from 0, and the endpoint. What is wrong there, the
// task itself will say.
func (o *Options) ofTask() (measurement int, endpoint string) {
	fs := flag.NewFlagSet(o.Task, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.IntVar(&measurement, contract.ParamMeasurement, 0, "")
	fs.StringVar(&endpoint, contract.ParamEndpoint, "", "")
	_ = fs.Parse(o.Args)
	return measurement, endpoint
}

func (o *Options) measurement() int {
	n, _ := o.ofTask()
	return n
}

func (o *Options) endpoint() string {
	_, url := o.ofTask()
	return url
}

// pipelineTask is the name of the task in its Pipeline.
func (o *Options) pipelineTask() string {
	if o.Task == contract.LoadGen {
		return o.Task + "-" + strconv.Itoa(o.measurement())
	}
	return o.Task
}

// jobName is a function of what is run, and of nothing else.
func (o *Options) jobName(hub, namespace string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", hub, namespace, o.RunID, o.Attempt))
	return "bflow-" + hex.EncodeToString(sum[:5]) + "-" + o.pipelineTask()
}

// forever is the deadline of a task of a plan that says nothing about time.
const forever = 24 * time.Hour

// deadline leaves room for an outage before the task and one after it.
func (o *Options) deadline(plan *runplan.RunPlan) time.Duration {
	if o.Deadline > 0 {
		return o.Deadline
	}
	return cmp.Or(plan.Timeouts.Task[o.pipelineTask()].D(), plan.Timeouts.Tasks.D(), forever) + 2*o.Patience
}

// work is the Job. The results server outlives any loss of the way to it by far: it ends when nobody comes back at all.
func (o *Options) work(plan *runplan.RunPlan, c *cluster.Cluster, hub string) cluster.Work {
	list := func(cpu, memory resource.QuantityValue) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: cpu.Quantity, corev1.ResourceMemory: memory.Quantity}
	}
	return cluster.Work{
		Name: o.jobName(hub, c.Namespace), Task: o.Task, Role: role(o.Task), Image: o.Image, Args: o.Args,
		Files: o.FilesImage, APIKey: o.APIKey,
		Hosts: plan.Target.HostAliases, Nodes: c.Nodes, Room: o.Room.Quantity, Deadline: o.deadline(plan),
		Idle:      4 * o.Patience,
		Resources: corev1.ResourceRequirements{Requests: list(o.CPU, o.Memory), Limits: list(o.MaxCPU, o.MaxMemory)},
	}
}
