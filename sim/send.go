package sim

// send gives b to the kernel in the way the faults say. It returns false when the client has left.
func (s *stream) send(b []byte, now int64, last bool) bool {
	if s.over || len(b) == 0 {
		return !s.over
	}
	if s.rec.FirstByte == 0 {
		s.rec.FirstByte = now
	}
	if s.rec.HTTPStatus == 0 {
		s.rec.HTTPStatus = 200
	}
	if s.cutUTF8 {
		b = s.hold(b)
	}
	blocked, err := s.write(b)
	if err == nil && last && len(s.held) > 0 {
		blocked, err = s.write(s.held)
	}
	if blocked {
		s.rec.BlockedWrites++
	}
	return err == nil
}

func (s *stream) write(b []byte) (blocked bool, err error) {
	if !s.split {
		return s.c.out.send(b)
	}
	for i := range b {
		if blocked, err = s.c.out.send(b[i : i+1]); err != nil {
			break
		}
	}
	return blocked, err
}

// hold returns what was held before and b up to the middle of its last character of several bytes; the rest is held.
func (s *stream) hold(b []byte) []byte {
	all := append(s.held, b...)
	cut := len(all) - 1
	for cut > 0 && all[cut] < 0x80 {
		cut--
	}
	if cut == 0 {
		cut = len(all)
	}
	s.held = append([]byte(nil), all[cut:]...)
	return all[:cut]
}
