// Package attest writes the attestations of an image: its contents (SPDX) and how it was built (SLSA provenance).
//
// Both are pure functions of the program's build information. It must not know registries, and it signs nothing.
package attest

// epoch stands where a format demands a time: documents of equal images are equal.
const epoch = "1970-01-01T00:00:00Z"
