package runplan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kinds of faults. Those of a request hit the share of requests; those of the server ignore it. A kind with a
// value is written kind=value.
const (
	FaultHTTP400 = "http_400" // refused with this status before any token
	FaultHTTP429 = "http_429" // with Retry-After: 1
	FaultHTTP500 = "http_500"
	FaultHTTP503 = "http_503"
	FaultEmpty   = "empty" // a 200 without a token

	FaultResetReused = "reset_reused" // reset instead of an answer, on a connection that has served a request before
	FaultReset       = "reset"        // reset after half of the tokens
	FaultTruncated   = "truncated"    // the body ends cleanly after half of the tokens, without [DONE]
	FaultErrorEvent  = "error_event"  // an error object inside the 200 stream after half of the tokens
	FaultStall       = "stall"        // nothing more after half of the tokens, the connection stays open

	FaultShortOutput  = "short_output"  // half of the tokens asked for, finish reason stop
	FaultNoDone       = "no_done"       // all tokens, but no [DONE]
	FaultUsageMissing = "usage_missing" // no usage, whatever was asked

	FaultSplit          = "split"            // one byte per segment
	FaultCoalesce       = "coalesce"         // all events in one segment, when the last is due
	FaultTokensPerEvent = "tokens_per_event" // =N, 4 without a value; an event leaves when its last token is due
	FaultCRLF           = "crlf"             // lines of events end with CR LF
	FaultComments       = "comments"         // a comment before every event
	FaultMultiLine      = "multi_line"       // the JSON of an event on two data lines
	FaultCutUTF8        = "cut_utf8"         // segments end inside a character
	FaultCR             = "cr"               // lines of events end with CR alone
	FaultBOM            = "bom"              // a byte order mark opens the body
	FaultNoSpace        = "no_space"         // no blank after "data:"
	// =BYTES, 1048576 without a value; the first event with a token is that much longer
	FaultBigEvent   = "big_event"
	FaultUsageEvery = "usage_every" // usage in every event, whatever was asked (completions, chat)
	FaultToolCalls  = "tool_calls"  // all tokens are arguments of a tool call (chat)
	FaultGzip       = "gzip"        // the body is compressed although nobody asked
	FaultRoleFirst  = "role_first"  // header and role-only event at once, long before the first token
	FaultReasoning  = "reasoning"   // the first half of the tokens are reasoning (chat)

	FaultFreeze     = "freeze"      // server: nothing is sent for the duration, everything due is that much later
	FaultNotReady   = "not_ready"   // server: 503 on everything but the metrics
	FaultWrongModel = "wrong_model" // server: another model is served, the right name gets 404
	FaultSlowAccept = "slow_accept" // server: =DURATION, 200ms without a value; new connections wait that long
	FaultCrash      = "crash"       // server: all connections are reset and the process ends with exit code 1
)

// FaultKinds returns all kinds, without values.
func FaultKinds() []string {
	return []string{
		FaultHTTP400, FaultHTTP429, FaultHTTP500, FaultHTTP503, FaultEmpty,
		FaultResetReused, FaultReset, FaultTruncated, FaultErrorEvent, FaultStall,
		FaultShortOutput, FaultNoDone, FaultUsageMissing,
		FaultSplit, FaultCoalesce, FaultTokensPerEvent, FaultCRLF, FaultComments, FaultMultiLine, FaultCutUTF8,
		FaultCR, FaultBOM, FaultNoSpace, FaultBigEvent, FaultUsageEvery,
		FaultRoleFirst, FaultReasoning, FaultToolCalls, FaultGzip,
		FaultFreeze, FaultNotReady, FaultWrongModel, FaultSlowAccept, FaultCrash,
	}
}

// Split returns the kind without its value, and the value, empty where there is none.
func (f Fault) Split() (kind, value string) {
	kind, value, _ = strings.Cut(f.Kind, "=")
	return kind, value
}

// Validate returns what is wrong with f.
func (f Fault) Validate() error {
	kind, value := f.Split()
	switch {
	case !slices.Contains(FaultKinds(), kind):
		return fmt.Errorf("unknown kind of fault %q (known: %s)", kind, strings.Join(FaultKinds(), ", "))
	case f.Share < 0 || f.Share > 1:
		return fmt.Errorf("share %v of fault %q: want 0 to 1", f.Share, f.Kind)
	case f.After < 0 || f.Duration < 0:
		return fmt.Errorf("times of fault %q: want 0 or more", f.Kind)
	case kind == FaultFreeze && f.Duration == 0:
		return fmt.Errorf("fault %q needs a duration", f.Kind)
	}
	return validFaultValue(kind, value, strings.Contains(f.Kind, "="))
}

func validFaultValue(kind, value string, given bool) error {
	switch {
	case !given:
		return nil
	case kind == FaultTokensPerEvent:
		if n, err := strconv.Atoi(value); err != nil || n < 1 || n > 1000 {
			return fmt.Errorf("value %q of fault %q: want 1 to 1000", value, kind)
		}
	case kind == FaultBigEvent:
		if n, err := strconv.Atoi(value); err != nil || n < 1 || n > 64<<20 {
			return fmt.Errorf("value %q of fault %q: want 1 to %d bytes", value, kind, 64<<20)
		}
	case kind == FaultSlowAccept:
		if d, err := time.ParseDuration(value); err != nil || d < 0 {
			return fmt.Errorf("value %q of fault %q: want a duration such as 200ms", value, kind)
		}
	default:
		return fmt.Errorf("fault %q takes no value", kind)
	}
	return nil
}
