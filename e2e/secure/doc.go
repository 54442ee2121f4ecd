// Package secure tests runs against a server with TLS: every task that connects to it uses load.api.tls.
package secure
