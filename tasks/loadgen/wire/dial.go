package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"bflow.dev/bflow/tasks/loadgen/stamp"
)

// DialError is a failure to connect; TLS says that TCP was connected and the handshake failed.
type DialError struct {
	TLS bool
	Err error
}

func (e *DialError) Error() string { return e.Err.Error() }
func (e *DialError) Unwrap() error { return e.Err }

// Dial opens a connection within timeout, handshake included. Its error is a *DialError.
func (s Server) Dial(ctx context.Context, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	dialer := net.Dialer{KeepAlive: 30 * time.Second}
	conn, err := dialer.DialContext(ctx, s.Network, s.Address)
	if err != nil {
		return nil, &DialError{Err: fmt.Errorf("connecting to %q: %w", s.Address, cause(err))}
	}
	if s.TLS == nil {
		return conn, nil
	}
	secure := tls.Client(stamp.On(conn), s.TLS)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		if why := s.Explain(err); why != nil {
			return nil, &DialError{TLS: true, Err: why}
		}
		return nil, &DialError{TLS: true, Err: fmt.Errorf("securing the connection to %q: %w", s.Address, err)}
	}
	return secure, nil
}

// cause drops the address that a dial error repeats.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}
