package report

// FileProgress is replaced about once a second while load-gen runs; it lies in measurements/<n>/.
const FileProgress = "progress.json"

// Progress is how far a measurement is.
type Progress struct {
	Measurement int     `json:"measurement"`
	Sample      int     `json:"sample"`  // from 0
	Samples     int     `json:"samples"` // of the measurement
	Stage       int     `json:"stage"`   // from 0
	Stages      int     `json:"stages"`
	Name        string  `json:"name"`            // of the stage
	Try         int     `json:"try,omitempty"`   // from 0, where an invalid stage is measured again
	After       string  `json:"after,omitempty"` // reason for which the try before must not be believed
	Measure     bool    `json:"measure"`
	ElapsedS    float64 `json:"elapsed_s"`            // in this stage
	ExpectedS   float64 `json:"expected_s,omitempty"` // of this stage; 0 = not known
	Planned     int     `json:"planned,omitempty"`    // requests of this stage; 0 = not known
	Sent        int     `json:"sent"`
	Done        int     `json:"done"` // ok
	Errors      int     `json:"errors"`
	InFlight    int     `json:"in_flight"`
	Rate        float64 `json:"rate"`                   // requests per second that ended well, over the last second
	TTFTMS      float64 `json:"ttft_mean_ms,omitempty"` // of this stage so far, from the send; 0 = none
	ETAS        float64 `json:"eta_s,omitempty"`        // until the end of the measurement; 0 = not known
	Finished    bool    `json:"finished,omitempty"`
}
