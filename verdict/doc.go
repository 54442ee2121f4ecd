// Package verdict judges measurements: when a load stops early, whether a stage meets its objectives, and what
// follows for the run. It is arithmetic over plans and results; it reads no file, no clock and no socket.
package verdict
