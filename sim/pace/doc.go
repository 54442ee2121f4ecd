// Package pace delivers the tokens of a timing model at their deadlines: one locked thread that sleeps, then spins.
// It must not know the wire format of a token, or HTTP.
package pace
