package sse

import "bytes"

// dataField begins the lines that matter.
const dataField = "data:"

// reading is the scan of the bytes of one read.
type reading struct {
	*Scanner
	p    []byte
	at   int
	cr   int // the next CR in p, -1 when there is none
	emit func(data []byte) error

	one    []byte // the only data line of the event so far, where it lies in p
	hasOne bool
}

func (r *reading) run() error {
	for r.at < len(r.p) {
		end := r.lineEnd()
		if end < 0 {
			r.line = append(r.line, r.p[r.at:]...)
			r.at = len(r.p)
			return nil
		}
		line := r.p[r.at:end]
		r.step(end)
		if len(line) == 0 && len(r.line) == 0 {
			if err := r.dispatch(); err != nil {
				return err
			}
			continue
		}
		if r.endLine(line); len(r.data) > MaxEvent {
			return ErrTooLong
		}
	}
	return nil
}

// lineEnd returns the index of the line end that comes next, -1 when there is none.
func (r *reading) lineEnd() int {
	stop := len(r.p)
	if r.cr >= 0 {
		stop = r.cr
	}
	if lf := bytes.IndexByte(r.p[r.at:stop], '\n'); lf >= 0 {
		return r.at + lf
	}
	return r.cr
}

// step goes behind the line end at end, of one byte or two.
func (r *reading) step(end int) {
	r.at = end + 1
	if end != r.cr {
		return
	}
	switch {
	case r.at == len(r.p):
		r.skipLF = true
	case r.p[r.at] == '\n':
		r.at++
	}
	if r.cr = bytes.IndexByte(r.p[r.at:], '\r'); r.cr >= 0 {
		r.cr += r.at
	}
}

// endLine takes in a line whose last part is line.
func (r *reading) endLine(line []byte) {
	if len(r.line) > 0 {
		// The line lies in the scanner, which keeps it for less long than the event lives.
		r.keep()
		r.line = append(r.line, line...)
		if value, ok := r.value(r.line); ok {
			r.join(value)
		}
		r.line = r.line[:0]
		return
	}
	value, ok := r.value(line)
	switch {
	case !ok:
	case !r.hasData && !r.hasOne:
		r.one, r.hasOne = value, true
	default:
		r.keep()
		r.join(value)
	}
}

// value returns what a data line holds; false for any other line.
func (r *reading) value(line []byte) ([]byte, bool) {
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	switch {
	case len(line) >= len(dataField) && string(line[:len(dataField)]) == dataField:
		line = line[len(dataField):]
	case string(line) == "data":
		return nil, true
	default:
		return nil, false
	}
	if len(line) > 0 && line[0] == ' ' {
		line = line[1:]
	}
	return line, true
}

// join adds a line to the event, in the scanner.
func (r *reading) join(value []byte) {
	if r.hasData {
		r.data = append(r.data, '\n')
	}
	r.data, r.hasData = append(r.data, value...), true
}

// keep copies what would be lost with the bytes of the read.
func (r *reading) keep() {
	if r.hasOne {
		r.join(r.one)
		r.one, r.hasOne = nil, false
	}
}

// dispatch ends the event.
func (r *reading) dispatch() error {
	r.begun = true
	if r.hasOne {
		one := r.one
		r.one, r.hasOne = nil, false
		return r.emit(one)
	}
	if !r.hasData {
		return nil
	}
	err := r.emit(r.data)
	r.data, r.hasData = r.data[:0], false
	return err
}
