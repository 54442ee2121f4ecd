package report

import "io"

// readAhead reads from a reader in the background, a few blocks ahead of who reads from it: one processor unpacks what
// another one parses.
type readAhead struct {
	full  chan aheadBlock
	free  chan []byte
	stop  chan struct{}
	ended chan struct{}
	now   aheadBlock
	rest  []byte // of now
}

// aheadBlock is what was read, and the error that came behind it.
type aheadBlock struct {
	data []byte
	err  error
}

// blocksAhead is how many blocks there are.
const blocksAhead = 3

func newReadAhead(from io.Reader) *readAhead {
	r := &readAhead{full: make(chan aheadBlock, blocksAhead), free: make(chan []byte, blocksAhead),
		stop: make(chan struct{}), ended: make(chan struct{})}
	for range blocksAhead {
		r.free <- nil
	}
	go r.run(from)
	return r
}

func (r *readAhead) run(from io.Reader) {
	defer close(r.ended)
	for {
		var b aheadBlock
		select {
		case b.data = <-r.free:
		case <-r.stop:
			return
		}
		if b.data == nil {
			b.data = make([]byte, block)
		}
		n := 0
		for b.data = b.data[:block]; n < block && b.err == nil; {
			var got int
			got, b.err = from.Read(b.data[n:])
			n += got
		}
		b.data = b.data[:n]
		r.full <- b // there is room for every block
		if b.err != nil {
			return
		}
	}
}

// Read returns the errors of the reader where they came.
func (r *readAhead) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.now.err != nil {
			return 0, r.now.err
		}
		if r.now.data != nil {
			r.free <- r.now.data
		}
		r.now = <-r.full
		r.rest = r.now.data
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close ends the reading and returns when nobody uses the reader any more. Nothing may be read afterwards.
func (r *readAhead) Close() {
	close(r.stop)
	<-r.ended
}
