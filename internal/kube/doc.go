// Package kube is how the command line speaks with API servers: which cluster a person means (Source), one client that
// reads, follows and writes objects of any type (Client), and what its errors mean (Explain, IsTransient). It makes all
// clients of the command line and knows nothing of runs.
package kube
