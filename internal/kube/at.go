package kube

import (
	"path"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// At names a collection of objects, in all namespaces where none is given, or one object of it.
type At struct {
	schema.GroupVersionResource
	Namespace, Name string
	Sub             string // a subresource of the object
}

// Core names objects of the core API.
func Core(resource, namespace, name string) At { return in("", "v1", resource, namespace, name) }

// Apps names Deployments and the like.
func Apps(resource, namespace, name string) At { return in("apps", "v1", resource, namespace, name) }

// Tekton names objects of Tekton.
func Tekton(resource, namespace, name string) At {
	return in("tekton.dev", "v1", resource, namespace, name)
}

// CustomRuns names those of Tekton, which serves them in a version of their own.
func CustomRuns(namespace, name string) At {
	return in("tekton.dev", "v1beta1", "customruns", namespace, name)
}

// Kueue names queues and Workloads.
func Kueue(resource, namespace, name string) At {
	return in("kueue.x-k8s.io", "v1beta2", resource, namespace, name)
}

// In names objects of any API.
func In(group, version, resource string) At { return in(group, version, resource, "", "") }

func in(group, version, resource, namespace, name string) At {
	return At{GroupVersionResource: schema.GroupVersionResource{Group: group, Version: version, Resource: resource},
		Namespace: namespace, Name: name}
}

// on addresses a request. Without a resource it is about the API itself.
func (a At) on(r *rest.Request) *rest.Request {
	root := "/api"
	if a.Group != "" {
		root = path.Join("/apis", a.Group)
	}
	r = r.AbsPath(root, a.Version).Resource(a.Resource)
	if a.Namespace != "" {
		r = r.Namespace(a.Namespace)
	}
	if a.Name != "" {
		r = r.Name(a.Name)
	}
	if a.Sub != "" {
		r = r.SubResource(a.Sub)
	}
	return r
}

// Selector narrows a list, or what is followed.
type Selector struct{ Labels, Fields string }

// Labels selects objects by their labels.
func Labels(labels string) Selector { return Selector{Labels: labels} }

// Named selects one object of a collection.
func Named(name string) Selector { return Selector{Fields: "metadata.name=" + name} }

func (s Selector) on(r *rest.Request) *rest.Request {
	if s.Labels != "" {
		r = r.Param("labelSelector", s.Labels)
	}
	if s.Fields != "" {
		r = r.Param("fieldSelector", s.Fields)
	}
	return r
}
