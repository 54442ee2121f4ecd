package sim

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bflow.dev/bflow/internal/leakcheck"
	"bflow.dev/bflow/runplan"
)

// The load of the benchmark: one event per stream and gap.
const (
	benchStreams = 64
	benchGap     = 10 * time.Millisecond
	benchEvents  = 300
)

// readerEnv makes the test binary a client process: it holds the address to connect to. Clients are another process,
// so that their processor time is not the server's.
const readerEnv = "BFLOW_SIM_TEST_READER"

func TestMain(m *testing.M) {
	if address := os.Getenv(readerEnv); address != "" {
		readStreams(address)
		return
	}
	if address := os.Getenv(loopEnv); address != "" {
		closedLoops(address)
		return
	}
	leakcheck.Main(m)
}

// readStreams opens the streams of the benchmark, evenly spread over one gap, and throws away what comes.
func readStreams(address string) {
	body := fmt.Sprintf(`{"prompt":"a b c","max_tokens":%d,"stream":true}`, benchEvents)
	streams := benchStreams
	if n, err := strconv.Atoi(os.Getenv(countEnv)); err == nil {
		streams = n
	}
	done := make(chan struct{}, streams)
	for range streams {
		time.Sleep(benchGap / time.Duration(streams))
		go func() {
			defer func() { done <- struct{}{} }()
			c, err := net.Dial("tcp", address)
			if err != nil {
				return
			}
			defer c.Close()
			fmt.Fprintf(c, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: "+
				"%d\r\n\r\n%s", len(body), body)
			_, _ = io.Copy(io.Discard, c)
		}()
	}
	for range streams {
		<-done
	}
}

// startReader runs the client process until all its streams have ended.
func startReader(b *testing.B, address string) *exec.Cmd {
	b.Helper()
	return startClient(b, readerEnv+"="+address)
}

func startClient(b *testing.B, env ...string) *exec.Cmd {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return cmd
}

func cpu() time.Duration {
	var r unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkEventCPU compares the processor time per event of the engine with that of a bare loop that writes as many
// bytes at the same deadlines, and prints how late both were.
func BenchmarkEventCPU(b *testing.B) {
	for range b.N {
		bare, bareLate := benchBare(b)
		engine, stats := benchEngine(b)
		b.ReportMetric(float64(bare.Nanoseconds())/1e3, "µs-CPU/event-bare")
		b.ReportMetric(float64(engine.Nanoseconds())/1e3, "µs-CPU/event")
		b.ReportMetric(float64(engine)/float64(bare), "ratio")
		b.ReportMetric(float64(bareLate[len(bareLate)/2])/1e3, "µs-late-p50-bare")
		b.ReportMetric(float64(bareLate[len(bareLate)*99/100])/1e3, "µs-late-p99-bare")
		b.ReportMetric(float64(stats.Lateness.P50)/1e3, "µs-late-p50")
		b.ReportMetric(float64(stats.Lateness.P99)/1e3, "µs-late-p99")
		b.ReportMetric(stats.PacerRunDelay*1e3, "ms-pacer-run-delay")
	}
}

// benchEngine returns the processor time per event of the engine.
func benchEngine(b *testing.B) (time.Duration, Stats) {
	s, err := Listen(Config{
		Sim: runplan.Sim{TTFT: runplan.Duration(50 * time.Millisecond), ITL: runplan.Duration(benchGap)},
	})
	if err != nil {
		b.Fatal(err)
	}
	before := cpu()
	if err := startReader(b, strings.TrimPrefix(s.URL(), "http://")).Wait(); err != nil {
		b.Fatal(err)
	}
	took := cpu() - before
	if n := s.Stats().Events; n != benchStreams*benchEvents {
		b.Fatalf("%d events, want %d", n, benchStreams*benchEvents)
	}
	stats := s.Stats()
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return took / (benchStreams * benchEvents), stats
}

// benchBare returns the processor time per event of the bare loop, and how late its writes were, sorted.
func benchBare(b *testing.B) (time.Duration, []int64) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	before := cpu()
	reader := startReader(b, ln.Addr().String())
	conns := make([]net.Conn, benchStreams)
	for i := range conns {
		if conns[i], err = ln.Accept(); err != nil {
			b.Fatal(err)
		}
		if _, err := bufio.NewReader(conns[i]).ReadString('}'); err != nil {
			b.Fatal(err)
		}
	}
	late := writePaced(conns)
	for _, c := range conns {
		c.Close()
	}
	took := cpu() - before
	if err := reader.Wait(); err != nil {
		b.Fatal(err)
	}
	slices.Sort(late)
	return took / (benchStreams * benchEvents), late
}

// writePaced writes an event to one connection after another, spread evenly over the gap: sleep until 50 µs before
// each deadline, then spin.
func writePaced(conns []net.Conn) []int64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	event := []byte(strings.Repeat("x", 203))
	late := make([]int64, 0, benchStreams*benchEvents)
	begin := time.Now().Add(50 * time.Millisecond)
	for i := range benchStreams * benchEvents {
		due := begin.Add(time.Duration(i) * benchGap / benchStreams)
		if left := time.Until(due) - 50*time.Microsecond; left > 0 {
			ts := unix.NsecToTimespec(int64(left))
			_ = unix.Nanosleep(&ts, nil)
		}
		for time.Now().Before(due) {
		}
		late = append(late, int64(time.Since(due)))
		_, _ = conns[i%len(conns)].Write(event)
	}
	return late
}

// BenchmarkUnpacedRequests is the rate of one-event streams when nothing is paced, client included.
func BenchmarkUnpacedRequests(b *testing.B) {
	s := listen(b, Config{})
	request := post("/v1/completions", `{"prompt":"`+words(200)+`","max_tokens":1,"stream":true}`)
	b.RunParallel(func(pb *testing.PB) {
		c := dial(b, s)
		buf := make([]byte, 4096)
		for pb.Next() {
			send(b, c, request)
			for n := 0; !strings.HasSuffix(string(buf[:n]), "\r\n0\r\n\r\n"); {
				got, err := c.Read(buf[n:])
				if err != nil {
					b.Error(err)
					return
				}
				n += got
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// BenchmarkUnpacedEvents is the rate of events when nothing is paced and the client only reads.
func BenchmarkUnpacedEvents(b *testing.B) {
	s := listen(b, Config{})
	c := dial(b, s)
	send(b, c, strings.Replace(
		post("/v1/completions", fmt.Sprintf(`{"prompt":"a","max_tokens":%d,"stream":true}`, min(b.N, 100_000))),
		"Host: x", "Connection: close", 1))
	n, err := io.Copy(io.Discard, c)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(s.stats.generation.Load())/b.Elapsed().Seconds(), "events/s")
	b.SetBytes(n / int64(b.N))
}
