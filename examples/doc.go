// Package examples tests that every experiment in this folder, and every shipped profile, loads and plans. It holds
// experiments to start from, and no code.
package examples
