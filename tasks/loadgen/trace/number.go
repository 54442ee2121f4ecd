package trace

import (
	"bytes"
	"math"
	"strconv"
)

// decimal reads a number and returns it times 10^exponent, digit by digit: a float would lose the last digits of a time
// since 1970. What lies beyond is rounded. It is false for what is negative, no number, or beyond 63 bits.
func decimal(b []byte, exponent int) (int64, bool) {
	whole, fraction, _ := bytes.Cut(b, []byte("."))
	if len(whole) == 0 || !digits(whole) || !digits(fraction) {
		return scientific(b, exponent)
	}
	n, ok := int64(0), true
	for i := 0; i < len(whole)+exponent && ok; i++ {
		d := byte('0')
		if i < len(whole) {
			d = whole[i]
		} else if at := i - len(whole); at < len(fraction) {
			d = fraction[at]
		}
		n, ok = 10*n+int64(d-'0'), n < math.MaxInt64/10
	}
	if len(fraction) > exponent && fraction[exponent] >= '5' {
		n++
	}
	return n, ok
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// scientific reads what has an exponent of its own.
func scientific(b []byte, exponent int) (int64, bool) {
	if len(b) > 40 {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(b), 64)
	f = math.Round(f * math.Pow10(exponent))
	if err != nil || !(f >= 0) || f >= math.MaxInt64 {
		return 0, false
	}
	return int64(f), true
}

// unsigned reads an integer of up to 64 bits.
func unsigned(b []byte) (uint64, bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	n := uint64(0)
	for _, c := range b {
		d := uint64(c - '0')
		if c < '0' || c > '9' || n > (math.MaxUint64-d)/10 {
			return 0, false
		}
		n = 10*n + d
	}
	return n, true
}
