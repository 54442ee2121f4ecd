// Package check says without a cluster whether one would take our objects: the API server (schema, CEL), Tekton's
// admission webhook, and Pod Security; and whether Pipelines, Tasks and runs fit each other, which no server checks
// before it is too late. It is made for tests and must not be imported by a binary.
package check
