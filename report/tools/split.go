package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// splitter reads JSON that may be larger than memory. The elements of the long lists go to a spill one by one; what is
// left, with those lists empty, is the skeleton.
type splitter struct {
	ctx      context.Context
	in       *bufio.Reader
	at       int64  // bytes that were read
	path     string // of the value that is being read
	long     Long
	skeleton []byte
	spill    *spill
	scrub    *scrubber
	inFile   bool // what is read is the file that the spill refers to
	lists    []*list
	hidden   int // values that may be secret and were taken out of elements
}

// list is a long list of a document: a part of the spill.
type list struct {
	path       string
	at         int // in the skeleton
	n          int
	start, end int64 // in the spill
}

// Long says whether the list at a path, such as "benchmarks[0].requests.successful", may hold an element for each
// request. The value of the document itself is at "". nil means that no list does.
type Long func(path string) bool

// mostSkeleton bounds what of a document is in memory, and an element.
const mostSkeleton = 256 << 20

var errShape = errors.New("this is not valid JSON")

// problem says where the text is not JSON.
func (s *splitter) problem(err error) error {
	where := ""
	if s.path != "" {
		where = ", in " + s.path
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it ends at byte %d%s: was the file cut, or is the tool still writing it?", s.at, where)
	}
	return fmt.Errorf("byte %d%s: %w", s.at, where, err)
}

// read reads the whole text: one value, or more of which all but the first go into a list of their own.
func (s *splitter) read() error {
	if err := s.value(""); err != nil {
		return s.problem(err)
	}
	more := &list{path: moreValues, at: len(s.skeleton), start: s.spill.size}
	for {
		before := len(s.skeleton)
		err := s.space(&s.skeleton)
		separator := s.skeleton[before:]
		s.skeleton = s.skeleton[:before]
		if errors.Is(err, io.EOF) {
			if more.n > 0 {
				more.end = s.spill.size
				s.lists = append(s.lists, more)
			}
			s.skeleton = append(s.skeleton[:before], separator...)
			return nil
		}
		s.path = fmt.Sprintf("line %d", more.n+2)
		if err == nil {
			err = s.element(more, separator)
		}
		if err != nil {
			return s.problem(err)
		}
	}
}

// moreValues is the path of the values after the first.
const moreValues = "\n"

func (s *splitter) byte() (byte, error) {
	c, err := s.in.ReadByte()
	if err == nil {
		s.at++
	}
	return c, err
}

func (s *splitter) peek() (byte, error) {
	b, err := s.in.Peek(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

// space copies white space; it ends before another byte or with io.EOF.
func (s *splitter) space(to *[]byte) error {
	for {
		c, err := s.peek()
		if err != nil || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return err
		}
		*to = append(*to, c)
		_, _ = s.byte() // it was there
	}
}

// value copies the value that comes next into the skeleton.
func (s *splitter) value(path string) error {
	if err := s.space(&s.skeleton); err != nil {
		return err
	}
	if len(s.skeleton) > mostSkeleton {
		return fmt.Errorf("it has more than %d bytes outside the lists of requests", mostSkeleton)
	}
	s.path = path
	c, err := s.peek()
	switch {
	case err != nil:
		return err
	case c == '{':
		return s.object(path)
	case c == '[':
		return s.array(path)
	}
	begin := len(s.skeleton)
	if err = s.scalar(&s.skeleton); err == nil && !json.Valid(s.skeleton[begin:]) {
		err = errShape
	}
	return err
}

// next copies white space and the byte after it, which is one of want.
func (s *splitter) next(want string) (byte, error) {
	if err := s.space(&s.skeleton); err != nil {
		return 0, err
	}
	c, err := s.byte()
	if err == nil && strings.IndexByte(want, c) < 0 {
		err = errShape
	}
	s.skeleton = append(s.skeleton, c)
	return c, err
}

// endsEmpty says whether what was opened ends at once, which it copies then.
func (s *splitter) endsEmpty(closing byte) (bool, error) {
	if err := s.space(&s.skeleton); err != nil {
		return false, err
	}
	c, err := s.peek()
	if err != nil || c != closing {
		return false, err
	}
	_, err = s.next(string(closing))
	return true, err
}

func (s *splitter) object(path string) error {
	if _, err := s.next("{"); err != nil {
		return err
	}
	if empty, err := s.endsEmpty('}'); empty || err != nil {
		return err
	}
	for {
		if err := s.space(&s.skeleton); err != nil {
			return err
		}
		begin := len(s.skeleton)
		if err := s.text(&s.skeleton); err != nil {
			return err
		}
		name := decoded(s.skeleton[begin:])
		if path != "" {
			name = path + "." + name
		}
		s.path = name
		if _, err := s.next(":"); err != nil {
			return err
		}
		if err := s.value(name); err != nil {
			return err
		}
		if c, err := s.next(",}"); c == '}' || err != nil {
			return err
		}
	}
}

func (s *splitter) array(path string) error {
	if _, err := s.next("["); err != nil {
		return err
	}
	if s.long != nil && s.long(path) {
		return s.list(path)
	}
	if empty, err := s.endsEmpty(']'); empty || err != nil {
		return err
	}
	for i := 0; ; i++ {
		if err := s.value(fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
		if c, err := s.next(",]"); c == ']' || err != nil {
			return err
		}
	}
}

// list moves the elements of a list to the spill, each with what stands before it.
func (s *splitter) list(path string) error {
	l := &list{path: path, at: len(s.skeleton), start: s.spill.size}
	s.lists = append(s.lists, l)
	var between []byte
	for {
		s.path = fmt.Sprintf("%s[%d]", path, l.n)
		if err := s.space(&between); err != nil {
			return err
		}
		switch c, err := s.peek(); {
		case err != nil:
			return err
		case c == ']':
			l.end = s.spill.size
			s.skeleton = append(append(s.skeleton, between...), c)
			_, err = s.byte()
			return err
		case c == ',' && l.n > 0:
			_, _ = s.byte()
			between = append(between, c)
			if err := s.space(&between); err != nil {
				return err
			}
		case l.n > 0:
			return errShape
		}
		if err := s.element(l, between); err != nil {
			return err
		}
		between = between[:0]
	}
}

// element moves the value that comes next to the spill, without what may be secret.
func (s *splitter) element(l *list, before []byte) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if known, err := s.whole(before); known || err != nil {
		l.n++
		return err
	}
	buf := s.spill.buf[:0]
	err := s.raw(&buf)
	s.spill.buf = buf
	if err != nil {
		return err
	}
	if !json.Valid(buf) {
		return errShape
	}
	l.n++
	shown, n := s.scrub.document(buf, 0)
	s.hidden += n
	return s.spill.add(before, shown)
}

// whole is element where the value is an object or a list that lies whole in the buffer, so that one walk over it tells
// its end, whether it is JSON, and what may be secret. false where it is another.
func (s *splitter) whole(before []byte) (bool, error) {
	window, err := s.window()
	if err != nil || window[0] != '{' && window[0] != '[' {
		return false, nil
	}
	n, ok := s.scrub.walk(window, 0)
	if !ok && len(window)-n < longestWord && len(window) < s.in.Size() {
		window, _ = s.in.Peek(s.in.Size()) // what is there
		n, ok = s.scrub.walk(window, 0)
	}
	if !ok {
		return false, nil
	}
	s.hidden += s.scrub.countHidden()
	if s.inFile && len(s.scrub.edits) == 0 {
		err = s.spill.refer(s.at, before, window[:n])
	} else {
		err = s.spill.add(before, s.scrub.edited(window[:n]))
	}
	s.at += int64(n)
	_, _ = s.in.Discard(n) // it was there
	return true, err
}

// raw copies one value of any kind. Whether it is JSON is not looked at.
func (s *splitter) raw(to *[]byte) error {
	for depth := 0; ; {
		window, err := s.window()
		if err != nil {
			return err
		}
		n, whole := structure(window, &depth)
		s.take(to, window[:n])
		switch {
		case whole:
			return nil
		case len(*to) > mostSkeleton:
			return fmt.Errorf("it has more than %d bytes", mostSkeleton)
		case n == len(window):
			continue
		}
		if err := s.scalar(to); err != nil || depth == 0 {
			return err
		}
	}
}

// structure returns how much of a text is brackets and what separates values, and whether the last one closes a value.
func structure(text []byte, depth *int) (n int, whole bool) {
	for ; n < len(text); n++ {
		switch text[n] {
		case '{', '[':
			*depth++
		case '}', ']':
			if *depth--; *depth <= 0 {
				return n + 1, true
			}
		case ' ', '\n', '\t', '\r', ',', ':':
		default:
			return n, false
		}
	}
	return n, false
}
