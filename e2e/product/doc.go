// Package product drives bflow as a user does, for end-to-end tests: it starts the command with arguments, observes
// its files and processes, and joins the two records of a run, those of the load generator and of the engine. It must
// not depend on internals.
package product
