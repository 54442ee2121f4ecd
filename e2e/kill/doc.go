// Package kill kills processes of a run, fills its disk and revokes access to its folders, and checks the documented
// outcome: no process is left, no measurement is lost, there is one clear message, and the run can be resumed.
package kill
