// Package imports converts the result files of other load tools to a run directory with the layout of load-gen: plan,
// rows, stages, distributions. The code that processes native runs then makes report, verdict and page. It starts no
// process, opens no connection and contains no format: formats are in the packages of load/tool.
package imports
