package kube

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"bflow.dev/bflow/internal/bounded"
)

// Log names the log of one container.
type Log struct {
	Namespace, Pod, Container string
	Follow                    bool
	Last                      int // lines from its end; 0 = all of it
}

// ReadLog calls line with each line of a log. One that is followed goes on over interruptions of the API server, and
// ends with its container.
func (c *Client) ReadLog(ctx context.Context, of Log, line func(string) error) error {
	params := url.Values{"container": {of.Container}, "timestamps": {"true"}}
	if of.Follow {
		params.Set("follow", "true")
	}
	if of.Last > 0 {
		params.Set("tailLines", strconv.Itoa(of.Last))
	}
	at := Core("pods", of.Namespace, of.Pod)
	at.Sub = "log"
	last := ""
	err := Retry(ctx, Pause, func() error {
		if last != "" {
			params.Del("tailLines")
			params.Set("sinceTime", timeOf(last))
		}
		body, err := c.Stream(ctx, at, params)
		if err != nil {
			return err
		}
		defer body.Close()
		last, err = lines(body, last, line)
		return err
	}, func(err error) bool {
		var unreached *Unreachable
		return of.Follow && (errors.As(err, &unreached) || errors.Is(err, io.ErrUnexpectedEOF))
	})
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// longLine is the longest line of a log that is read whole.
const longLine = 1 << 20

// lines calls line with what comes after the line last, without the time before each, and returns the last line with
// its time.
func lines(body io.Reader, last string, line func(string) error) (string, error) {
	in := bufio.NewReaderSize(body, 64<<10)
	for {
		text, err := bounded.ReadLine(in, longLine)
		if text = strings.TrimRight(text, "\r\n"); text != "" && isLater(text, last) {
			last = text
			_, words, _ := strings.Cut(text, " ")
			if err := line(words); err != nil {
				return last, err
			}
		}
		if errors.Is(err, io.EOF) {
			return last, nil
		}
		if err != nil {
			return last, err
		}
	}
}

// timeOf is the time before a line.
func timeOf(line string) string {
	stamp, _, _ := strings.Cut(line, " ")
	return stamp
}

// isLater compares the times before two lines; the server writes them in equal length but for trailing zeros.
func isLater(text, last string) bool {
	if last == "" {
		return true
	}
	a, errA := time.Parse(time.RFC3339Nano, timeOf(text))
	b, errB := time.Parse(time.RFC3339Nano, timeOf(last))
	return errA != nil || errB != nil || a.After(b)
}
