// Command validity checks load-gen's judgement of its own results against packets on the wire: stages of many shapes,
// next to up to four busy processes, with kernel timestamps of the packets at both ends of the loopback interface. A
// stage with wrong numbers must be judged invalid, one with correct numbers must not.
//
// It needs CAP_NET_RAW, two cores, and an otherwise idle machine. Results are kept in a file, from which a second
// call resumes.
package main
