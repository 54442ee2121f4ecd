package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"unsafe"

	"bflow.dev/bflow/tasks/loadgen/stamp"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// packet is a TCP segment with data, as one end of the interface saw it.
type packet struct {
	at     int64 // wall clock in ns
	client bool  // of the client, as it left; else of the server, as it arrived
	port   int64 // of the client
}

// capture stamps the segments of connections to one port of the loopback interface.
type capture struct {
	fd   int
	stop int // eventfd
	keep *stamp.Keeper
	done chan error
	got  []packet
}

// room is the memory of the kernel for packets that nobody has read yet.
const room = 256 << 20

// startCapture begins; server is the port of the engine.
func startCapture(server int) (*capture, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening a packet socket, for which CAP_NET_RAW is needed: %w", err)
	}
	c := &capture{fd: fd, done: make(chan error, 1)}
	if c.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC); err == nil {
		err = c.listen(server)
	}
	if err == nil {
		c.keep, err = stamp.Keep()
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	go func() { c.done <- c.read() }()
	return c, nil
}

func (c *capture) listen(server int) error {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		return fmt.Errorf("looking for the loopback interface: %w", err)
	}
	program, err := bpf.Assemble(filter(uint32(server)))
	if err != nil {
		return fmt.Errorf("making the filter: %w", err)
	}
	raw := make([]unix.SockFilter, len(program))
	for i, p := range program {
		raw[i] = unix.SockFilter{Code: p.Op, Jt: p.Jt, Jf: p.Jf, K: p.K}
	}
	err = errors.Join(
		unix.SetsockoptSockFprog(c.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{
			Len: uint16(len(raw)), Filter: &raw[0],
		}),
		unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, room),
		unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
		unix.Bind(c.fd, &unix.SockaddrLinklayer{Protocol: htons(unix.ETH_P_ALL), Ifindex: lo.Index}),
	)
	if err != nil {
		return fmt.Errorf("listening to the loopback interface: %w", err)
	}
	return nil
}

func htons(v uint16) uint16 { return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v)) }

// Places in a packet of IPv4 without options, and how much of one is kept.
const (
	atEtherType = 12
	atProtocol  = 23
	ipHead      = 14
	tcpHead     = 34
	kept        = 54
)

// filter lets through what leaves for the server's port and what arrives from it: each end once.
func filter(server uint32) []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: atEtherType, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.ETH_P_IP, SkipTrue: 10},
		bpf.LoadAbsolute{Off: atProtocol, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_TCP, SkipTrue: 8},
		bpf.LoadExtension{Num: bpf.ExtType},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PACKET_OUTGOING, SkipTrue: 3},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.PACKET_HOST, SkipTrue: 5},
		bpf.LoadAbsolute{Off: tcpHead, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: server, SkipTrue: 2, SkipFalse: 3},
		bpf.LoadAbsolute{Off: tcpHead + 2, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: server, SkipTrue: 1},
		bpf.RetConstant{Val: kept},
		bpf.RetConstant{Val: 0},
	}
}

// read keeps packets until stop rings.
func (c *capture) read() error {
	buf, oob := make([]byte, kept), make([]byte, 64)
	fds := []unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}, {Fd: int32(c.stop), Events: unix.POLLIN}}
	for {
		n, oobn, _, from, err := unix.Recvmsg(c.fd, buf, oob, unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EAGAIN):
			if fds[1].Revents != 0 {
				return nil
			}
			if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
				return fmt.Errorf("waiting for packets: %w", err)
			}
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("reading packets: %w", err)
		default:
			link, _ := from.(*unix.SockaddrLinklayer)
			if p, ok := parse(buf[:n], stampOf(oob[:oobn]), link != nil && link.Pkttype == unix.PACKET_OUTGOING); ok {
				c.got = append(c.got, p)
			}
		}
	}
}

func stampOf(oob []byte) int64 {
	const head = unix.SizeofCmsghdr
	if len(oob) < head+int(unsafe.Sizeof(unix.Timespec{})) {
		return 0
	}
	return (*unix.Timespec)(unsafe.Pointer(&oob[head])).Nano()
}

// parse reads the heads of a segment; false for one without data.
func parse(b []byte, at int64, leaves bool) (packet, bool) {
	if len(b) < kept || at == 0 {
		return packet{}, false
	}
	length := int(binary.BigEndian.Uint16(b[ipHead+2:])) - 4*int(b[ipHead]&15) - 4*int(b[tcpHead+12]>>4)
	if length == -4*int(b[ipHead]&15)-4*int(b[tcpHead+12]>>4) { // larger than the field can say
		length = 1 << 16
	}
	port := binary.BigEndian.Uint16(b[tcpHead+2:])
	if leaves {
		port = binary.BigEndian.Uint16(b[tcpHead:])
	}
	return packet{at: at, client: leaves, port: int64(port)}, length > 0
}

// end returns the packets of each connection, by the port of its client and in order; an error where the kernel had to
// drop some.
func (c *capture) end() (map[int64][]packet, error) {
	_, err := unix.Write(c.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	err = errors.Join(err, <-c.done)
	c.keep.Close()
	stats, serr := unix.GetsockoptTpacketStats(c.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	err = errors.Join(err, serr, unix.Close(c.fd), unix.Close(c.stop))
	if err != nil {
		return nil, err
	}
	if stats.Drops > 0 {
		return nil, fmt.Errorf("the kernel dropped %d of %d packets before they were read", stats.Drops, stats.Packets)
	}
	out := map[int64][]packet{}
	for _, p := range c.got {
		out[p.port] = append(out[p.port], p)
	}
	for _, list := range out {
		slices.SortStableFunc(list, func(a, b packet) int { return int(a.at - b.at) })
	}
	return out, nil
}
