// Package pace delivers the tokens of a timing model at their deadlines: one locked thread that sleeps, then spins.
// It must not know what a token is sent as, nor HTTP.
package pace
