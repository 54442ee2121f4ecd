// Package check validates objects without a cluster, as one would: the API server (schema, CEL), Tekton's admission
// webhook, and Pod Security. It also checks that Pipelines, Tasks and runs match each other, which no server checks
// at admission. It is for tests, and no binary may import it.
package check
