// Package pipelines defines bflow's Tekton Tasks and Pipelines as typed objects, and reads them back from YAML. It
// must not know the experiment file, and it connects only names that package contract declares.
package pipelines
