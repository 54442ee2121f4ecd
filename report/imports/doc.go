// Package imports reads the result files of other load tools into a run directory, as if load-gen had left it: plan,
// rows, stages, distributions. What follows from these (report, verdict, page) is made by who makes it for our own
// runs. It starts no process, opens no connection and holds no format: those lie below report/tools.
package imports
