// Package spec reads experiment files: kinds, strict loading, defaults, validation, the profile catalogue.
// It opens files and nothing else: no network, no process, no clock; the matrix and resolved plans are package plan's,
// the words of other load tools package load's.
//
// The types are the format. Their struct tags drive the decoder, Explain and Schema alike:
//
//	json      key                        alias    older spellings, "a|b"
//	doc       meaning                    unit     unit of a number
//	req       the key must be there      default  filled in by the loader
//	implied   default resolved later     enum     allowed words, "a|b"
//	words     spellings, "other=word"    min, max, above   range of a number
//	is, keys  rule of values, of keys    zero     a duration may be 0
//	bare      bare number is seconds     null     "clears": null is a value
//	maxitems  entries of a map
//
// A file is read in three steps: parse resolves anchors and merges and checks sizes, the decoder checks every field by
// itself, and the check methods the rules between fields. Each step goes on after a problem, so that a person sees all
// of them at once.
package spec
