package jsonscan

// Cursor walks through one JSON text from left to right and never looks at a byte twice: the quickest way to a few
// values of a small object. Every value must be taken, by entering it, Raw or Skip, before the next Key or More. After
// the first mistake of the text all methods do nothing and say false; Err tells.
//
//	c := jsonscan.At(data)
//	if c.Object() {
//		for key, ok := c.Key(); ok; key, ok = c.Key() {
//			...
//		}
//	}
//	return c.Err()
type Cursor struct {
	b     []byte
	at    int
	first bool // nothing was read yet of the object or array that was entered last
	bad   bool
}

// At returns a cursor at the start of b.
func At(b []byte) Cursor { return Cursor{b: b} }

// Resume returns a cursor at before the value of a member, where another cursor stood at Offset after Key in a text
// that begins with the same bytes. The objects and arrays around it have been entered.
func Resume(b []byte, at int) Cursor { return Cursor{b: b, at: at} }

// Offset returns how much of the text was taken.
func (c *Cursor) Offset() int { return c.at }

// Object enters the object that comes next. A null is skipped and false; anything else is a mistake.
func (c *Cursor) Object() bool { return c.enter('{') }

// Array enters the array that comes next, as Object does with an object.
func (c *Cursor) Array() bool { return c.enter('[') }

func (c *Cursor) enter(open byte) bool {
	i := skipSpace(c.b, c.at)
	if i < len(c.b) && c.b[i] == open && !c.bad {
		c.at, c.first = i+1, true
		return true
	}
	if !IsNull(c.Raw()) {
		c.bad = true
	}
	return false
}

// Key returns the raw key of the next member of the object, without quotes and with escapes as written; false at the
// end of the object, which it leaves then.
func (c *Cursor) Key() ([]byte, bool) {
	b, i := c.b, c.at
	if c.first || i+1 >= len(b) || b[i] != ',' || b[i+1] != '"' || c.bad {
		var ok bool
		if i, ok = c.separator('}'); !ok {
			return nil, false
		}
	} else {
		i++
	}
	end := skipString(b, i)
	if end < 0 {
		c.bad = true
		return nil, false
	}
	key := b[i+1 : end-1]
	if end = skipSpace(b, end); end >= len(b) || b[end] != ':' {
		c.bad = true
		return nil, false
	}
	c.at = end + 1
	return key, true
}

// More says whether the array has another element, which comes next; false at its end, which it leaves then.
func (c *Cursor) More() bool {
	i, ok := c.separator(']')
	c.at = i
	return ok
}

// separator steps over what stands before the next member; false where there is none.
func (c *Cursor) separator(closing byte) (int, bool) {
	b, i := c.b, skipSpace(c.b, c.at)
	if i >= len(b) || c.bad {
		c.bad = true
		return i, false
	}
	if b[i] == closing {
		c.at, c.first = i+1, false
		return i + 1, false
	}
	if !c.first {
		if b[i] != ',' {
			c.bad = true
			return i, false
		}
		i = skipSpace(b, i+1)
	}
	c.first = false
	return i, true
}

// Raw takes the next value and returns it as it is written, nil where there is none.
func (c *Cursor) Raw() []byte {
	start := skipSpace(c.b, c.at)
	if !c.skipFrom(start) {
		return nil
	}
	return c.b[start:c.at]
}

// Skip takes the next value.
func (c *Cursor) Skip() { c.skipFrom(skipSpace(c.b, c.at)) }

func (c *Cursor) skipFrom(start int) bool {
	if c.bad {
		return false
	}
	end := skipValue(c.b, start)
	if end < 0 {
		c.bad = true
		return false
	}
	c.at, c.first = end, false
	return true
}

// Count takes the array that comes next and returns the number of its elements; 0 for anything else.
func (c *Cursor) Count() int64 {
	if c.Peek() != '[' {
		c.Skip()
		return 0
	}
	n := int64(0)
	c.Array()
	for ; c.More(); n++ {
		c.Skip()
	}
	return n
}

// Peek returns the first byte of the next value, 0 at the end of the text.
func (c *Cursor) Peek() byte {
	if i := skipSpace(c.b, c.at); i < len(c.b) && !c.bad {
		return c.b[i]
	}
	return 0
}

// Err returns ErrSyntax when the text was not what its reader took it for, or is not over yet.
func (c *Cursor) Err() error {
	if c.bad || skipSpace(c.b, c.at) != len(c.b) {
		return ErrSyntax
	}
	return nil
}
