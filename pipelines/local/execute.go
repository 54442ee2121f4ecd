package local

import (
	"context"
	"errors"
)

// ErrNoRun means that a folder holds no local run.
var ErrNoRun = errors.New("no local run here")

func run(context.Context, Options) (Status, error)    { return Status{}, ErrNoRun }
func resume(context.Context, Options) (Status, error) { return Status{}, ErrNoRun }
func check(Options) []Refusal                         { return nil }
func statusOf(string) (Status, error)                 { return Status{}, ErrNoRun }
func list(string) ([]Status, error)                   { return nil, nil }
func cancel(string) error                             { return ErrNoRun }
func remove(string) error                             { return ErrNoRun }
