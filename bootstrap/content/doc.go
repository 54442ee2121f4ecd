// Package content tells what lies in a namespace beside what Kubernetes keeps in every one and what bflow put there: what
// runs left, and what is of others. Whoever deletes a namespace asks here first. It changes nothing, and does not know how
// an installation or a target marks what is its own: the caller says that.
package content
