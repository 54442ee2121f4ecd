// Command floor is the baseline client: a bare net/http closed loop with a minimal reader of server-sent events. It
// keeps no timestamps, counts no tokens and writes one line of totals. A load generator should not be slower.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	var l loop
	flag.StringVar(&l.url, "url", "", "base URL of the server")
	flag.IntVar(&l.streams, "streams", 32, "requests in flight")
	flag.Int64Var(&l.requests, "requests", 1000, "total number of requests")
	flag.DurationVar(&l.ramp, "ramp", 0, "time over which to start the streams")
	tokens := flag.Int("tokens", 1, "tokens per response")
	words := flag.Int("words", 200, "words per prompt, of five bytes each including the space")
	flag.Parse()
	l.body = body(*words, *tokens)
	totals, err := l.run(context.Background())
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(totals)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

// body is a chat request; every request carries the same.
func body(words, tokens int) []byte {
	prompt := strings.TrimSpace(strings.Repeat("word ", words))
	return fmt.Appendf(nil, `{"model":"sim","messages":[{"role":"user","content":%q}],"stream":true,`+
		`"stream_options":{"include_usage":true},`+
		`"max_tokens":%d,"min_tokens":%d,"ignore_eos":true,"temperature":0}`, prompt, tokens, tokens)
}

// loop is a closed loop.
type loop struct {
	url      string
	streams  int
	requests int64
	ramp     time.Duration
	body     []byte
	client   *http.Client
	taken    atomic.Int64
}

// totals are what came back.
type totals struct {
	Requests int64 `json:"requests"`
	Events   int64 `json:"events"` // data: lines, [DONE] and usage too
	Bytes    int64 `json:"bytes"`
}

func (l *loop) run(ctx context.Context) (totals, error) {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	l.client = &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: l.streams,
			DisableCompression: true},
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		all   totals
		first error
	)
	for i := range l.streams {
		wg.Go(func() {
			time.Sleep(l.ramp * time.Duration(i) / time.Duration(l.streams))
			t, err := l.stream(ctx)
			mu.Lock()
			defer mu.Unlock()
			all = totals{all.Requests + t.Requests, all.Events + t.Events, all.Bytes + t.Bytes}
			if first == nil {
				first = err
			}
		})
	}
	wg.Wait()
	return all, first
}

// stream puts one request after the other until all have been taken.
func (l *loop) stream(ctx context.Context) (totals, error) {
	var t totals
	in := bufio.NewReaderSize(nil, 16<<10)
	for l.taken.Add(1) <= l.requests {
		if err := l.exchange(ctx, in, &t); err != nil {
			return t, err
		}
	}
	return t, nil
}

func (l *loop) exchange(ctx context.Context, in *bufio.Reader, t *totals) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+"/v1/chat/completions", bytes.NewReader(l.body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	resp, err := l.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	in.Reset(resp.Body)
	for {
		line, err := in.ReadSlice('\n')
		t.Bytes += int64(len(line))
		if bytes.HasPrefix(line, []byte("data:")) {
			t.Events++
		}
		if err == io.EOF {
			t.Requests++
			return nil
		}
		if err != nil {
			return err
		}
	}
}
