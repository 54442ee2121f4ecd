// Package content finds what lies in a namespace other than what Kubernetes keeps in every one and what bflow put
// there: results of runs, and objects of others. It is asked before a namespace is deleted. It changes nothing, and
// does not know how an installation or a target marks its own objects: the caller says that.
package content
