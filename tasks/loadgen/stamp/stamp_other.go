//go:build !linux

package stamp

import (
	"errors"
	"net"
)

// reader is empty: the kernel gives no stamps here.
type reader struct{}

// On returns conn.
func On(conn net.Conn) net.Conn { return conn }

// Keeper keeps nothing.
type Keeper struct{}

// Keep is an error.
func Keep() (*Keeper, error) { return nil, errors.New("this kernel gives no receive stamps") }

// Close does nothing.
func (*Keeper) Close() {}
