package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// side is what waits: runs, or Jobs.
type side struct {
	name      string
	kind      schema.GroupVersionResource
	namespace string
	queue     func(target int) string
	object    func(i, target int) *unstructured.Unstructured
	started   func(*unstructured.Unstructured) bool
	ended     func(now time.Time) object // its status then
}

const labelQueue = "kueue.x-k8s.io/queue-name"

// sideLabel is on everything that waits: the number of its target.
const sideLabel = "bench.bflow.dev/target"

// jobSide is Jobs that nobody but the actor works on.
func jobSide(o options) side {
	demand := object{gpu: strconv.Itoa(o.demand)}
	return side{
		name: "Jobs", kind: inGroup("batch", "jobs"), namespace: jobNamespace, queue: jobQueue,
		object: func(i, target int) *unstructured.Unstructured {
			return made(object{
				"apiVersion": "batch/v1", "kind": "Job",
				"metadata": object{
					"name": fmt.Sprintf("queued-%05d", i), "namespace": jobNamespace,
					"labels": object{labelQueue: jobQueue(target), sideLabel: strconv.Itoa(target)},
				},
				"spec": object{
					"suspend": true, "managedBy": "bench.bflow.dev/actor",
					"template": object{"spec": object{"restartPolicy": "Never", "containers": []any{object{
						"name": "none", "image": "none", "resources": object{"requests": demand, "limits": demand},
					}}}},
				},
			})
		},
		started: func(u *unstructured.Unstructured) bool {
			suspended, _, _ := unstructured.NestedBool(u.Object, "spec", "suspend")
			return !suspended
		},
		ended: func(now time.Time) object {
			return object{"startTime": stamp(now), "completionTime": stamp(now), "succeeded": 1, "conditions": []any{
				condition("SuccessCriteriaMet", "CompletionsReached", now), condition("Complete", "CompletionsReached", now),
			}}
		},
	}
}

// runSide is runs as the compiler writes them, as far as a queue looks at them.
func runSide(o options) side {
	gpus := strconv.Itoa(o.demand)
	requests, _ := json.Marshal(map[string]string{gpu: gpus, "bflow.dev/cluster-slot": "1"})
	shape, _ := json.Marshal([]object{{"count": 1, "requests": map[string]string{gpu: gpus}}})
	hash := sha256.Sum256([]byte("bench-queue"))
	return side{
		name: "runs", kind: inGroup("tekton.dev", "pipelineruns"), namespace: o.namespace, queue: slice,
		object: func(i, target int) *unstructured.Unstructured {
			return made(object{
				"apiVersion": "tekton.dev/v1", "kind": "PipelineRun",
				"metadata": object{
					"name": fmt.Sprintf("queued-%05d", i), "namespace": o.namespace,
					"labels": object{
						labelQueue: slice(target), sideLabel: strconv.Itoa(target), "bflow.dev/target": slice(target),
						"bflow.dev/plan-hash": hex.EncodeToString(hash[:])[:63], "app.kubernetes.io/managed-by": "bflow",
					},
					"annotations": object{"bflow.dev/requests": string(requests), "bflow.dev/pods": string(shape)},
				},
				"spec": object{"status": "PipelineRunPending", "pipelineRef": object{"name": "none"}},
			})
		},
		started: func(u *unstructured.Unstructured) bool {
			status, _, _ := unstructured.NestedString(u.Object, "spec", "status")
			return status == ""
		},
		ended: func(now time.Time) object {
			return object{
				"startTime": stamp(now), "completionTime": stamp(now),
				"conditions": []any{condition("Succeeded", "Succeeded", now)},
			}
		},
	}
}

func condition(kind, reason string, at time.Time) object {
	return object{"type": kind, "status": "True", "reason": reason, "lastTransitionTime": stamp(at)}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
