// Package product is bflow as a person meets it, for the tests of the whole: it starts the command with arguments,
// follows what it leaves on disk and in the process table, and joins the two accounts of a run, those of the load
// generator and of the engine. It must not know how any part works inside.
package product
