package platform

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of object that runs make on their target.
type Kind struct {
	schema.GroupVersionKind
	Resource  string // plural, as paths and rights have it
	Maker     Maker
	MakesPods bool // pods of an object come back while it is there
	Data      bool // it holds data, and diagnostics leave it out
}

// Maker is who makes objects of a kind.
type Maker string

// Makers.
const (
	ByPlatform Maker = "platform" // provision, as the platform says
	ByTask     Maker = "task"     // provision, for a task that runs on a remote target
	ByCluster  Maker = "cluster"  // the cluster, for another object
)

// Kinds is the table of all kinds that runs make on a target. Owners stand before what they own: leftovers are removed
// in this order. The rights of provision, of the controller and of its agents to objects of ByPlatform follow from it.
// Secrets are not among them: they belong to other objects of the run and go with them, so that nobody needs a right to
// list Secrets.
func Kinds() []Kind {
	return []Kind{
		{GroupVersionKind: kind("batch", "Job"), Resource: "jobs", Maker: ByTask, MakesPods: true},
		{GroupVersionKind: kind("", "ConfigMap"), Resource: "configmaps", Maker: ByTask},
		{GroupVersionKind: kind("apps", "Deployment"), Resource: "deployments", Maker: ByPlatform, MakesPods: true},
		{GroupVersionKind: kind("", "Service"), Resource: "services", Maker: ByPlatform},
		{
			GroupVersionKind: kind("", "PersistentVolumeClaim"), Resource: "persistentvolumeclaims", Maker: ByPlatform,
			Data: true,
		},
		{GroupVersionKind: kind("", "Pod"), Resource: "pods", Maker: ByCluster},
	}
}

// kind is one of version v1.
func kind(group, name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: "v1", Kind: name}
}

// FindKind finds a row of the table by the name of the kind.
func FindKind(name string) (Kind, bool) {
	all := Kinds()
	if i := slices.IndexFunc(all, func(k Kind) bool { return k.Kind == name }); i >= 0 {
		return all[i], true
	}
	return Kind{}, false
}

// APIPath is the path of an API server below which every namespace has its objects of the kind.
func (k Kind) APIPath() string {
	if k.Group == "" {
		return "/api/" + k.Version
	}
	return "/apis/" + k.Group + "/" + k.Version
}
