// Package examples proves in its tests that every experiment in this folder, and every shipped profile, loads and
// plans. It holds experiments that people start from, and no code.
package examples
