package sim

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"bflow.dev/bflow/runplan"
)

// The variables that make the test binary a client of closed loops, and say how many requests each makes.
const (
	loopEnv  = "BFLOW_SIM_TEST_LOOPS"
	countEnv = "BFLOW_SIM_TEST_COUNT"
)

// loops is the number of connections of the closed loop.
const loops = 32

// chatRequest is a streamed chat with a prompt of 1 kB and an answer of one token.
func chatRequest(tokens int) string {
	prompt := strings.Repeat("some words ", 93)
	body := fmt.Sprintf(`{"model":"sim","messages":[{"role":"user","content":"%s"}],"stream":true,`+
		`"stream_options":{"include_usage":true},`+
		`"temperature":0,"max_completion_tokens":%d,"max_tokens":%d,"min_tokens":%d,"ignore_eos":true}`, prompt,
		tokens, tokens, tokens)
	return fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nAccept: text/event-stream\r\nContent-Type: "+
		"application/json\r\nHost: x\r\n"+
		"User-Agent: bflow-load-gen\r\nX-Request-Id: 0123456789abcdef-1-1\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// closedLoops makes requests on every connection, one after another, as fast as they are answered.
func closedLoops(address string) {
	count, _ := strconv.Atoi(os.Getenv(countEnv))
	var wg sync.WaitGroup
	for range loops {
		wg.Go(func() { closedLoop(address, count) })
	}
	wg.Wait()
}

func closedLoop(address string, count int) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer c.Close()
	request := []byte(chatRequest(1))
	buf := make([]byte, 16<<10)
	for range count {
		if _, err := c.Write(request); err != nil {
			return
		}
		for n := 0; !bytes.HasSuffix(buf[:n], []byte("\r\n0\r\n\r\n")); {
			got, err := c.Read(buf[n:])
			if err != nil {
				return
			}
			n += got
		}
	}
}

// BenchmarkRequestCPU is the processor time of the engine per unpaced chat of one token, the client in a process of
// its own.
func BenchmarkRequestCPU(b *testing.B) {
	for _, truth := range []bool{false, true} {
		b.Run(fmt.Sprintf("truth %v", truth), func(b *testing.B) {
			cfg := Config{}
			if truth {
				cfg.TruthLog = b.TempDir() + "/truth.jsonl"
			}
			s, err := New(cfg)
			if err != nil {
				b.Fatal(err)
			}
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			s.listenOn(ln)
			s.wg.Go(func() { _ = s.accept(ln) })
			before := cpu()
			client := startClient(b, loopEnv+"="+ln.Addr().String(), countEnv+"="+strconv.Itoa(b.N/loops+1))
			if err := client.Wait(); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			took, n := cpu()-before, s.Stats().Requests
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(took.Nanoseconds())/1e3/float64(n), "µs-CPU/request")
			b.ReportMetric(float64(n)/took.Seconds(), "requests/CPU-s")
		})
	}
}

// BenchmarkLateness is how late the engine is itself, by the number of streams with an event every 10 ms each. Its
// pacer has a processor of its own, as in the command.
func BenchmarkLateness(b *testing.B) {
	for _, streams := range []int{64, 200, 600, 1000} {
		b.Run(strconv.Itoa(streams), func(b *testing.B) {
			s := listen(b, Config{Sim: runplan.Sim{TTFT: ms(50), ITL: runplan.Duration(benchGap)}})
			before := cpu()
			for range b.N {
				client := startClient(b, readerEnv+"="+strings.TrimPrefix(s.URL(), "http://"), countEnv+"="+strconv.Itoa(streams))
				if err := client.Wait(); err != nil {
					b.Fatal(err)
				}
			}
			stats := s.Stats()
			b.ReportMetric(float64((cpu()-before).Nanoseconds())/1e3/float64(stats.Events), "µs-CPU/event")
			b.ReportMetric(float64(stats.Lateness.P50)/1e3, "µs-late-p50")
			b.ReportMetric(float64(stats.Lateness.P99)/1e3, "µs-late-p99")
			b.ReportMetric(stats.PacerRunDelay*1e3, "ms-pacer-run-delay")
		})
	}
}
