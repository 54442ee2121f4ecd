// Package secure tests runs against a server that is spoken to by TLS: every task that does so follows load.api.tls.
package secure
