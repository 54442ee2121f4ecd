package loop

func setHandler(s Stream, h Handler) { s.(*socket).handler = h }
