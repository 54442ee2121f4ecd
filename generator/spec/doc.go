// Package spec reads experiment files: kinds, strict loading, defaults, validation, and the profile catalogue. It
// reads files and nothing else: no network, no process, no clock. Package plan handles the matrix and resolved plans,
// package load the native load block, and the packages below load/tool the blocks of other load tools.
//
// The types are the format. Their struct tags drive the decoder, Explain and Schema alike:
//
//	json      key                        alias    older spellings, "a|b"
//	doc       meaning                    unit     unit of a number
//	req       the key must be there      default  filled in by the loader
//	implied   default resolved later     enum     allowed words, "a|b"
//	words     spellings, "other=word"    min, max, above   range of a number
//	is, keys  rule of values, of keys    zero     a duration may be 0
//	bare      "s": bare number is seconds; "integer": one that stands for the whole struct has no fraction
//	instead   words that are none of enum, and what to do, "word=do this"
//	null      "clears": null is a value  maxitems entries of a map
//	enumof    "tools", "platforms": allowed words are the names of load tools, of platforms
//
// A file is read in three steps: parse resolves anchors and merges and checks sizes, the decoder checks each field on
// its own, and the check methods check the rules between fields. Each step continues after a problem, so that a person
// sees all problems at once.
package spec
