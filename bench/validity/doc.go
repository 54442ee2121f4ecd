// Command validity holds load-gen's judgement of itself against the packets on the wire: stages of many shapes, beside up to
// four busy processes, each with the kernel's stamps of its packets at both ends of the loopback interface. A stage whose
// numbers are wrong has to be called invalid, one whose numbers are right must not be.
//
// It needs CAP_NET_RAW, two cores, and nothing else that runs. Results are kept in a file, and a second call goes on with it.
package main
