package plan

import (
	"fmt"
	"strconv"
	"strings"
)

const maxModelLen = "--max-model-len"

// withMaxModelLen applies the rule of the format to server arguments: every spelling of --max-model-len leaves the
// list, the last value counts, and the larger of it and need (tokens, 0 = none) is appended last.
func withMaxModelLen(args []string, need int) ([]string, error) {
	kept := make([]string, 0, len(args)+1)
	length := 0
	for i := 0; i < len(args); i++ {
		value, matched := maxModelLenValue(args[i])
		if !matched {
			kept = append(kept, args[i])
			continue
		}
		if value == "" && i+1 < len(args) {
			i++
			value = args[i]
		}
		n, err := tokens(value)
		if err != nil {
			return nil, err
		}
		length = n
	}
	if length = max(length, need); length > 0 {
		kept = append(kept, fmt.Sprintf("%s=%d", maxModelLen, length))
	}
	return kept, nil
}

// maxModelLenValue reports whether arg is the option, and its value where that is part of the same argument.
func maxModelLenValue(arg string) (value string, matched bool) {
	end := strings.IndexAny(arg, "= \t")
	name := arg
	if end >= 0 {
		name, value = arg[:end], strings.TrimSpace(arg[end+1:])
	}
	return value, strings.ReplaceAll(name, "_", "-") == maxModelLen
}

// tokens reads a length as vLLM does: k, m, g are decimal, K, M, G binary.
func tokens(s string) (int, error) {
	scale, number := 1.0, s
	if s != "" {
		if i := strings.IndexByte("kmgKMG", s[len(s)-1]); i >= 0 {
			scale = []float64{1e3, 1e6, 1e9, 1 << 10, 1 << 20, 1 << 30}[i]
			number = s[:len(s)-1]
		}
	}
	f, err := strconv.ParseFloat(number, 64)
	n := int(f * scale)
	if err != nil || f <= 0 || float64(n) != f*scale {
		return 0, fmt.Errorf("%s %q: want a number of tokens such as 8192 or 8k", maxModelLen, s)
	}
	return n, nil
}
