package soak

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"
)

// judged is what a judge of eight GPUs a cluster finds in a tale, live and again from its log.
func judged(t *testing.T, told *tale) []string {
	t.Helper()
	live := New(map[string]int64{Hub: 8, "worker": 8})
	var log bytes.Buffer
	for _, e := range told.events {
		live.See(e)
		if err := Write(&log, e); err != nil {
			t.Fatal(err)
		}
	}
	live.End()
	events, err := Read(&log)
	if err != nil {
		t.Fatal(err)
	}
	again := New(map[string]int64{Hub: 8, "worker": 8})
	for _, e := range events {
		again.See(e)
	}
	again.End()
	if diff := cmp.Diff(live.Wrong(), again.Wrong()); diff != "" {
		t.Errorf("the log tells something else (-live +log):\n%s", diff)
	}
	return live.Wrong()
}

func TestJudge(t *testing.T) {
	local := started("n1", contract.TargetLocal)
	far := started("n1", "worker")
	e, d := engine("e", "n1", 4), deployment("d", "n1")
	for _, row := range []struct {
		name string
		tale *tale
		want string // what the one sentence has; "" = nothing is wrong
	}{
		{name: "a run starts, runs and leaves nothing",
			tale: newTale().list(aRun("n1"), local, d, e, taskRun("p", contract.Provision, "n1"), taskPod(
				"p-pod", contract.Provision, "n1"), taskPod("p-pod", contract.Provision, "n1").withEnd("Succeeded")).
				gone(d).gone(e).list(released("n1", contract.TargetLocal))},
		{name: "a run that was deleted gives everything back as it goes",
			tale: newTale().list(local, d, e, local.ends()).gone(d).gone(e).gone(local.ends())},

		{name: "two runs share the GPUs of one cluster", tale: newTale().list(local, e,
			started("n2", contract.TargetLocal), engine("f", "n2", 4)).gone(e).gone(engine("f", "n2", 4)).
			list(released("n1", contract.TargetLocal), released("n2", contract.TargetLocal))},
		{name: "a pod that has ended asks for nothing", tale: newTale().list(local, engine("e", "n1", 8),
			engine("e", "n1", 8).withEnd("Failed"), started("n2", contract.TargetLocal), engine("f", "n2", 4)).
			gone(engine("e", "n1", 8)).gone(engine("f", "n2", 4)).
			list(released("n1", contract.TargetLocal), released("n2", contract.TargetLocal))},
		{name: "pods ask for more GPUs than there are", want: "00:00:04.000 pods ask for 12 GPUs of cluster hub, " +
			"which has 8: Pod a/e (4 GPUs, run n1, attempt 1, since 00:00:02.000), Pod a/f (8 GPUs",
			tale: newTale().list(local, e, started("n2", contract.TargetLocal),
				engine("f", "n2", 8)).gone(engine("f", "n2", 8)).gone(e).
				list(released("n1", contract.TargetLocal), released("n2", contract.TargetLocal))},
		{name: "pods of the worker are counted there", want: "12 GPUs of cluster worker",
			tale: newTale().list(far, started("n2", "worker")).there(Seen, e, engine("f", "n2", 8)).
				there(Gone, e, engine("f", "n2", 8)).list(released("n1", "worker"), released("n2", "worker"))},

		{name: "a task has a TaskRun in each attempt",
			tale: newTale().list(taskRun("p", contract.Provision, "n1"), taskRun("p-a2", contract.Provision, "n1-a2"))},
		{name: "a task of one attempt was started twice", want: "task provision of one attempt was started twice: " +
			"TaskRun a/p at 00:00:01.000, and TaskRun a/q at 00:00:02.000",
			tale: newTale().list(taskRun("p", contract.Provision, "n1"), taskRun("q", contract.Provision, "n1"))},
		{name: "a task of a matrix is started again after the end of that, and does nothing", tale: newTale().
			list(aMatrix("m"), taskRun("b", "begin", "m")).gone(aMatrix("m")).list(again("b", "m")).
			list(podOf(again("b", "m")), podOf(again("b", "m")).withEnd("Failed")).gone(again("b", "m")).later(61)},
		{name: "a task of a matrix is started again after the end of that, and the judge ends before it can be deleted",
			tale: newTale().list(aMatrix("m"), taskRun("b", "begin", "m")).gone(aMatrix("m")).list(again("b", "m")).later(60)},
		{name: "a task of a matrix is started again after the end of that, and stays",
			want: "task begin of one attempt was started twice: TaskRun a/b at 00:00:02.000, and TaskRun a/b at 00:00:04.000, " +
				"which nobody deletes",
			tale: newTale().list(aMatrix("m"), taskRun("b", "begin", "m")).gone(aMatrix("m")).list(again("b", "m")).later(61)},
		{name: "a task of a matrix is started again after the end of that, and does its work",
			want: "task begin of one attempt was started twice: TaskRun a/b at 00:00:02.000, and TaskRun a/b at 00:00:04.000, " +
				"whose pod succeeded",
			tale: newTale().list(aMatrix("m"), taskRun("b", "begin", "m")).gone(aMatrix("m")).list(again("b", "m")).
				list(podOf(again("b", "m")).withEnd("Succeeded"))},
		{name: "a task of a matrix is started twice before its end",
			want: "task begin of one attempt was started twice: TaskRun a/b at 00:00:02.000, and TaskRun a/b at 00:00:03.000",
			tale: newTale().list(aMatrix("m"), taskRun("b", "begin", "m"), again("b", "m")).gone(aMatrix("m"))},
		{name: "a task of a run is started again after the end of that",
			want: "task provision of one attempt was started twice: TaskRun a/p at 00:00:02.000, and TaskRun " +
				"a/q at 00:00:04.000",
			tale: newTale().list(aRun("n1"), taskRun("p", contract.Provision, aRun("n1").String())).gone(aRun("n1")).
				list(taskRun("q", contract.Provision, aRun("n1").String()))},
		{name: "two pods of one TaskRun are alive", want: "two pods of TaskRun s are alive on cluster hub: Pod a/s since",
			tale: func() *tale {
				one, two := taskPod("s", contract.Smoketest, "n1"), taskPod("s", contract.Smoketest, "n1")
				two.Name, two.UID = "s-retry", "another"
				return newTale().list(one, two)
			}()},
		{name: "a pod follows one of its TaskRun that has ended",
			tale: func() *tale {
				one, two := taskPod("s", contract.Smoketest, "n1"), taskPod("s", contract.Smoketest, "n1")
				two.Name, two.UID = "s-retry", "another"
				return newTale().list(one, one.withEnd("Failed"), two)
			}()},
		{name: "two pods provision for one run", want: "two pods of run a/n1 are alive",
			tale: newTale().list(taskPod("p", contract.Provision, "n1"), taskPod("q", contract.Provision, "n1"))},
		{name: "engines of two attempts are there at once", want: "of two attempts are alive",
			tale: newTale().list(local, engine("e", "n1", 1), engine("f", "n1", 1).as(contract.LabelAttempt, "2")).
				gone(engine("e", "n1", 1)).gone(engine("f", "n1", 1)).list(released("n1", contract.TargetLocal))},

		{name: "another attempt starts before the first one is released",
			want: "two attempts of one run are let start: PipelineRun a/n1 at",
			tale: newTale().list(local, func() Object {
				o := started("n1-a2", contract.TargetLocal).as(contract.LabelRun, "n1")
				return o.as(contract.LabelAttempt, "2")
			}()).
				list(released("n1", contract.TargetLocal), released("n1-a2", contract.TargetLocal).as(contract.LabelRun, "n1"))},
		{name: "a run is let start a second time", want: `had bflow.dev/admitted=t0 and has "t9"`,
			tale: newTale().list(local, local.and(contract.AnnotationAdmitted, "t9"),
				released("n1", contract.TargetLocal).and(contract.AnnotationAdmitted, "t9"))},

		{name: "an engine is there at its release", want: "PipelineRun a/n1 was released at 00:00:03.000 without a " +
			"mark on target local: there was Pod a/e (4 GPUs, run n1, attempt 1, since 00:00:02.000)",
			tale: newTale().list(local, e, released("n1", contract.TargetLocal)).gone(e)},
		{name: "an engine is there at its release, and the target is marked", tale: newTale().list(local, e,
			flavor(contract.TargetLocal, "a/n1"), released("n1", contract.TargetLocal)).gone(e)},
		{name: "the mark comes after the release", want: "without a mark", tale: newTale().list(local, e,
			released("n1", contract.TargetLocal), flavor(contract.TargetLocal, "a/n1")).gone(e)},
		{name: "the mark is another namespace's", want: "without a mark", tale: newTale().list(local, e,
			flavor(contract.TargetLocal, "b/n1"), released("n1", contract.TargetLocal)).gone(e)},
		{name: "a task goes on at the release", want: "there was Pod a/p",
			tale: newTale().list(local, taskPod("p", contract.Provision, "n1"), released("n1", contract.TargetLocal))},
		{name: "an engine is there when a deleted run goes", want: "without a mark",
			tale: newTale().list(local, e, local.ends()).gone(local).gone(e)},
		{name: "an engine on the worker is there after the release", want: "there was Deployment a/d",
			tale: newTale().list(far).there(Seen, d).list(released("n1", "worker")).mark(far).there(Gone, d)},
		{name: "an engine on the worker is gone when its cluster is asked",
			tale: newTale().list(far).there(Seen, d).there(Gone, d).list(released("n1", "worker")).mark(far)},
		{name: "a run is released while its target is off the network",
			want: "target worker is off the network since 00:00:02.000",
			tale: newTale().list(far).tell("worker", Cut, Object{}).later(40).list(released("n1", "worker")).
				tell("worker", Back, Object{}).mark(far)},
		{name: "a run is released by force while its target is off the network",
			tale: newTale().list(far).tell("worker", Cut, Object{}).later(40).
				list(flavor("worker", "a/n1"), released("n1", "worker")).tell("worker", Back, Object{}).mark(far)},

		{name: "something is made for a run that was never let start", want: "Deployment a/d of run a/n1 was made on " +
			"cluster hub at 00:00:02.000, when no attempt of it was let start",
			tale: newTale().list(aRun("n1").withEnd("Cancelled"), d).gone(d)},
		{name: "something is made after a release", want: "Pod a/e of run a/n1 was made",
			tale: newTale().list(local, released("n1", contract.TargetLocal), e).gone(e)},
		{name: "something is made on the worker long after a release", want: "Pod a/e of run a/n1 was made on cluster worker",
			tale: newTale().list(far, released("n1", "worker")).later(5).there(Seen, e).there(Gone, e).mark(far)},
		{name: "a run of the same name makes what it needs after the first is gone", tale: func() *tale {
			second := started("n1", contract.TargetLocal)
			second.UID = "second"
			over := released("n1", contract.TargetLocal)
			over.UID = "second"
			return newTale().list(local, released("n1", contract.TargetLocal)).gone(local).list(second, e).gone(e).list(over)
		}()},

		{name: "the quota comes back with the release", tale: newTale().list(local, workload(local, true),
			released("n1", contract.TargetLocal), workload(local, false))},
		{name: "the quota comes back once no pod holds a device", tale: newTale().list(local, workload(local, true),
			local.and(contract.AnnotationFreed, "t1"), workload(local, false), released("n1", contract.TargetLocal))},
		{name: "the quota comes back while the run goes on", want: "Workload a/pipelinerun-n1 gave its quota back at " +
			"00:00:03.000, when PipelineRun a/n1 had neither freed nor released its devices",
			tale: newTale().list(local, workload(local, true), workload(local, false), released("n1", contract.TargetLocal))},
		{name: "the quota goes with its Workload", want: "gave its quota back", tale: newTale().list(local,
			workload(local, true)).gone(workload(local, true)).list(released("n1", contract.TargetLocal))},
		{name: "the quota goes with a namespace that is deleted", tale: newTale().list(local, workload(local, true),
			local.ends(), workload(local, true).ends()).gone(workload(local, true)).gone(local)},

		{name: "a run never ends", want: "PipelineRun a/n1, made at 00:00:01.000, has not ended",
			tale: newTale().list(local)},
		{name: "a run ends and is not released", want: "has not ended", tale: newTale().list(local, local.withEnd("Failed"))},
		{name: "a run that lost a task gets no other attempt", want: "has not ended", tale: newTale().
			list(released("n1", contract.TargetLocal).and(run.AnnotationStopped, run.CauseLost+": its node went"))},
		{name: "a run that lost a task gets another attempt", tale: newTale().list(released("n1", contract.TargetLocal).
			and(run.AnnotationStopped, run.CauseLost+": its node went").and(run.AnnotationNext, "n1-a2"))},
	} {
		t.Run(row.name, func(t *testing.T) {
			wrong := judged(t, row.tale)
			switch {
			case row.want == "" && len(wrong) > 0:
				t.Errorf("it finds %q", wrong)
			case row.want != "" && (len(wrong) != 1 || !strings.Contains(wrong[0], row.want)):
				t.Errorf("it finds %q\nwant %q", wrong, row.want)
			}
		})
	}
}

// TestAListSaysEverythingAtOnce: where a watch was away, what went is told beside what came, in any order.
func TestAListSaysEverythingAtOnce(t *testing.T) {
	j := New(map[string]int64{Hub: 8})
	old, young := newTale().list(engine("e", "n1", 8)).events[0], newTale().later(5).list(engine("f", "n2", 8)).events[5]
	j.See(old)
	went := old
	went.Verb, went.Revision = Gone, old.Revision+1
	j.See(young, went)
	if wrong := j.Wrong(); len(wrong) > 0 {
		t.Error(wrong)
	}
}

// TestAQuestionWaitsForWhatOtherWatchesTell: the end of a pod may be told after the release that it came before.
func TestAQuestionWaitsForWhatOtherWatchesTell(t *testing.T) {
	e := engine("e", "n1", 8)
	told := newTale().list(started("n1", contract.TargetLocal),
		e).gone(e).list(released("n1", contract.TargetLocal)).events
	j := New(map[string]int64{Hub: 8})
	j.See(told[0])
	j.See(told[1])
	j.See(told[3])
	if wrong := j.Wrong(); len(wrong) > 0 {
		t.Fatalf("before the end of the pod was told: %q", wrong)
	}
	j.See(told[2])
	j.End()
	if wrong := j.Wrong(); len(wrong) > 0 {
		t.Error(wrong)
	}
}

func TestTheJudgeAsksOnceForARunThatWasReleasedElsewhere(t *testing.T) {
	j := New(map[string]int64{Hub: 8})
	for _, e := range newTale().list(started("n1", "worker"), released("n1", "worker"), released("n1", "worker").
		and("bflow.dev/other", "x"), started("n2", contract.TargetLocal), released("n2", contract.TargetLocal)).events {
		j.See(e)
	}
	if asks := j.Asks(); len(asks) != 1 || asks[0].Name != "n1" ||
		asks[0].Annotations[contract.AnnotationAdmittedTo] != "worker" {
		t.Errorf("it asks for %v", asks)
	}
	if again := j.Asks(); len(again) > 0 {
		t.Errorf("and again for %v", again)
	}
}

func TestTheTableTellsRunsByTheirEnds(t *testing.T) {
	j := New(map[string]int64{Hub: 8})
	for _, e := range newTale().list(aRun("n1"), started("n1", contract.TargetLocal),
		released("n1", contract.TargetLocal), aRun("n2"), aRun("n2").withEnd("Cancelled"),
		started("n3", contract.TargetLocal), started("n3", contract.TargetLocal).ends()).
		gone(started("n3", contract.TargetLocal)).later(9).list(started("n4", contract.TargetLocal)).events {
		j.See(e)
	}
	j.End()
	var out strings.Builder
	if err := j.Print(&out, map[Act]int{Submit: 3, Cancel: 1, KillStore: 2}); err != nil {
		t.Fatal(err)
	}
	want := `runs                          4
  Succeeded                   1
  deleted while it ran        1
  ended in the queue          1
  open                        1
releases that are marked      0
longest wait for a start      1s (a/n1)
longest release after an end  1s (a/n3)
acts of people                4
  cancel                      1
  submit                      3
faults                        2
  kill etcd                   2
checks                        3, 1 of them failed
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
