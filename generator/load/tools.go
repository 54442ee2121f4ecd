package load

func (t *translator) native()        {}
func (t *translator) guidellm()      {}
func (t *translator) aiperf()        {}
func (t *translator) inferencePerf() {}
func (t *translator) vllmBench()     {}
func (t *translator) finish()        {}
