package main

import (
	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/queue/matrix"
)

// compiler is the one of this module, as the queue asks for it.
type compiler struct{}

var _ matrix.Compiler = compiler{}

func (compiler) NewPoints(root string) matrix.Points { return compile.NewPoints(root) }

func (compiler) ChildName(parent string, n int) string { return compile.ChildName(parent, n) }
