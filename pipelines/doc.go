// Package pipelines holds bflow's Tekton Tasks and Pipelines as typed objects, and reads them back from YAML.
// It must not know the experiment file, and it wires only names that package contract declares.
package pipelines
