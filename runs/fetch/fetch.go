package fetch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/results/transfer"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
)

// Options are what a transfer depends on beside the run. The zero value is ready to use.
type Options struct {
	Only  func(path string) bool // files to bring; nil = all
	Image string                 // of the pod; "" = the image of task collect of the run
	// bytes of the files to bring, told after every piece; may be called side by side
	Progress func(done, total int64)
	Ready    time.Duration                   // how long the pod may take to start; 0 = two minutes
	piece    int64                           // bytes of one request; 0 = that of transfer
	pause    func(attempt int) time.Duration // before a request is tried again; nil = doubling from a quarter of a second
}

// tries are those of one request: with the pauses between them half a minute, as long as an API server takes to come
// back.
const tries = 8

// Run brings the files of a run to folder dir. only chooses by path relative to the run directory, and the list of
// checksums comes with them; nil brings all. It may be called again after an error: what has come stays, and is not
// asked for again.
func Run(ctx context.Context, api *kube.Client, namespace, run, dir string, only func(string) bool) error {
	return Options{Only: only}.Run(ctx, api, namespace, run, dir)
}

// client starts and ends the pod that serves the results of a run.
type client struct{ api *kube.Client }

// Run brings the files of a run to folder dir, and holds them against the list that the run has made of them at its
// end: one that has changed on its volume since is a *checksums.DamagedError.
func (o Options) Run(ctx context.Context, api *kube.Client, namespace, run, dir string) error {
	c := &client{api: api}
	where, err := c.locate(ctx, namespace, run, o.Image)
	if err != nil {
		return fmt.Errorf("looking for the results of run %q: %w", run, err)
	}
	if err := checksums.Retract(dir); err != nil {
		// what an earlier call has brought may be of files that have changed since
		return err
	}
	token := rand.Text() // of this transfer alone
	pod, err := c.startPod(ctx, where, token)
	if err != nil {
		return fmt.Errorf("starting the results pod of run %q: %w", run, err)
	}
	err = o.transfer(ctx, c, pod, token, dir)
	if err := errors.Join(err, c.deletePod(ctx, pod)); err != nil {
		return err
	}
	return checksums.Verify(dir, o.Only)
}

func (o Options) transfer(ctx context.Context, c *client, pod *corev1.Pod, token, dir string) error {
	if o.Ready == 0 {
		o.Ready = 2 * time.Minute
	}
	if o.pause == nil {
		o.pause = transfer.Doubling
	}
	if err := c.waitReady(ctx, pod, o.Ready); err != nil {
		return err
	}
	only := o.Only
	if only != nil {
		only = func(path string) bool { return path == contract.FileChecksums || o.Only(path) }
	}
	return transfer.Fetch(ctx, c.proxy(pod, token), dir,
		transfer.Options{Only: only, Progress: o.Progress, Piece: o.piece, Again: transfer.Tries(tries, o.pause)})
}
