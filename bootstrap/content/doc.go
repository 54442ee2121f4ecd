// Package content lists the content of a namespace, apart from what Kubernetes creates in every namespace and what
// bflow created: data of runs, and objects of others. Code that deletes a namespace checks with this package first.
// It changes nothing, and it does not know how an installation or a target marks its own objects: the caller provides
// that.
package content
