package contract

// What says how long an ended run is kept, and what has become of what it kept.
const (
	// on a PipelineRun: seconds after its end until it goes, from the experiment
	AnnotationTTL = Prefix + "ttl-seconds"
	// on a PipelineRun: how long its model server stays after its end, as time.Duration writes it, from the experiment
	AnnotationKeepServer = Prefix + "keep-server"
	// on a PipelineRun that has ended: RFC 3339 time until which its model server stays; not there once it goes
	AnnotationServerUntil = Prefix + "server-until"
	// on a PipelineRun: RFC 3339 time at which somebody had fetched all of its results
	AnnotationFetched = Prefix + "fetched"
	// on a PipelineRun: since when its volume is gone, and where its results are
	AnnotationVolumeDeleted = Prefix + "volume-deleted"

	// on the parent of a matrix: size of the volume for the results of its runs; none where they share one
	AnnotationResultsSize = Prefix + "results-size"
	// on a run of a matrix: where its results were gathered, as CLAIM/FOLDER
	AnnotationResults = Prefix + "results"
	// on a TaskRun of role RoleGather: the runs whose results it is to gather, by commas
	AnnotationGathers = Prefix + "gathers"

	RoleGather     = "gather"   // LabelRole of a TaskRun that copies the results of runs to the volume of their matrix
	ResultGathered = "gathered" // of such a TaskRun: the runs whose results are there, by commas
)

// ResultsClaim is the claim with the gathered results of a matrix.
func ResultsClaim(matrix string) string { return matrix + "-results" }
