package tools

import "github.com/cespare/xxhash/v2"

// Sessions numbers the conversations of a file by their names. It keeps hashes: the names of millions would be more
// memory than their requests.
type Sessions map[uint64]int

// Number returns the number of a conversation, which is the same each time.
func (s Sessions) Number(name string) int {
	key := xxhash.Sum64String(name)
	n, known := s[key]
	if !known {
		n = len(s)
		s[key] = n
	}
	return n
}
