package apply

import (
	"context"
	"time"

	"bflow.dev/bflow/internal/kube"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// AwaitAnswer returns when the server accepts a dry run of the probe and the answer satisfies the condition: the
// webhooks for it then work. It does nothing without a probe, and takes any answer without a condition. It returns a
// WaitError when ctx ends.
func (c *Cluster) AwaitAnswer(ctx context.Context, probe *unstructured.Unstructured, is Condition,
	say func(string)) error {
	if probe == nil {
		return nil
	}
	began, told := time.Now(), ""
	for {
		why, err := c.ask(ctx, probe, is)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if why == "" && err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return &WaitError{Ref: RefOf(probe), Reason: told, After: time.Since(began)}
		}
		if why != told && say != nil && time.Since(began) >= reasonTime {
			say(why)
		}
		told = why
		kube.Sleep(ctx, kube.Pause)
	}
}

// ask creates the probe as a dry run and returns why it is not satisfied yet.
func (c *Cluster) ask(ctx context.Context, probe *unstructured.Unstructured, is Condition) (why string, err error) {
	at, err := c.at(RefOf(probe))
	if err != nil {
		return "", err
	}
	at.Name = ""
	var made unstructured.Unstructured
	err = c.api.Create(ctx, at, probe, &made, kube.Write{DryRun: true})
	switch {
	case errors.IsAlreadyExists(err):
		return "", nil
	case err != nil && isTransient(err):
		return err.Error(), nil
	case err != nil || is == nil:
		return "", err
	}
	_, why = is(&made)
	return why, nil
}
