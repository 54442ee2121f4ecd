// Package demo tests the shipped demo as a whole: what the load generator wrote down, what the engine wrote down, and
// what people are shown, are three accounts of the same requests.
package demo
