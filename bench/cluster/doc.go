// Command cluster measures what bflow costs on a cluster: the time of a small queued run of the simulated engine that is
// neither load nor the start of the engine, against a hand-written minimal Pipeline of as many tasks and steps on the same
// images and the same kind of volume, whose steps start and exit at once. It exits with 1 when the ratio of the medians is
// above 1.15, and with 2 when nothing could be measured.
//
// What is compared, so that it is fair:
//
//   - Both begin when Tekton may begin: the run of bflow with the change that lets it start (its time in the queue is not
//     cost), the minimal one with its creation. Both end when their PipelineRun says Succeeded. One client watches both
//     and stamps what it receives: times of the objects themselves are whole seconds.
//   - Two spans are taken off the run of bflow, as it recorded them in its own run directory: from the creation of the
//     engine until it answered (provision), and from the beginning of the first stage to the end of the last (load-gen).
//     Everything else counts, be it useful: the smoke test, the removal of the engine, the report, the bundle. The kubelet
//     looks once a second, so that a step is seen to end up to a second late: loads of 2.0 to 2.8 s spread that evenly.
//   - The minimal Pipeline has the task names, images, step counts and resource requests that the run had, its volume
//     claim, its ServiceAccount and its pod template, and no ConfigMap or Secret. Its steps print their usage.
//   - The runs take turns, each is deleted before the next begins, and one of each goes ahead unmeasured: images are
//     pulled then. Metrics of a monitoring system are not asked for: that is its time.
//
// It must not know more of bflow than its command line and the files of a run directory.
package main
