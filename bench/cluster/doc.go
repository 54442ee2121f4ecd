// Command cluster measures the overhead of bflow on a cluster: the time of a small queued run of the simulated
// engine, without its load and the start of the engine, relative to a hand-written minimal Pipeline with as many
// tasks and steps on the same images and the same kind of volume, whose steps exit at once. It exits with 1 if the
// ratio of the medians is above 1.15, and with 2 if nothing could be measured.
//
// For a fair comparison:
//
//   - The clock starts when Tekton may start: for the run of bflow with its admission (time in the queue does not
//     count), for the minimal Pipeline with its creation. It stops when the PipelineRun is Succeeded. One client
//     watches both and timestamps what it receives, because times in the objects are whole seconds.
//   - Two spans are subtracted from the run of bflow, as recorded in its run directory: from the creation of the
//     engine until it answered (provision), and from the start of the first stage to the end of the last (load-gen).
//     Everything else counts, even useful work: the smoke test, the removal of the engine, the report, the bundle.
//     The kubelet polls once a second, so the end of a step is seen up to a second late: loads of 2.0 to 2.8 s spread
//     that evenly.
//   - The minimal Pipeline has the same task names, images, step counts and resource requests as the run, its volume
//     claim, its ServiceAccount and its pod template, but no ConfigMap or Secret. Its steps print their usage.
//   - The runs alternate, each is deleted before the next begins, and the first of each is not measured, because it
//     pulls images. Metrics of a monitoring system are not collected: their cost is that of the monitoring system.
//
// It must depend on nothing of bflow but its command line and the files of a run directory.
package main
