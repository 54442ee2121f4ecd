// Package compile turns RunPlans into Tekton objects and writes them as YAML.
//
// It is pure: the same plans and options give the same bytes. It must not open sockets, run processes, read clocks or
// resolve anything that the plan leaves open; only WriteDir writes files.
package compile
