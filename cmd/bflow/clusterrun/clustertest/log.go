package clustertest

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// log is what a container has written.
type log struct {
	mu    sync.Mutex
	lines []string
	ended bool
	news  chan struct{} // closed when there is more
	stop  chan struct{} // closed when the streams break
}

func newLog() *log { return &log{news: make(chan struct{}), stop: make(chan struct{})} }

// interrupt breaks the streams of a log.
func (l *log) interrupt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.stop)
	l.stop = make(chan struct{})
}

// Say adds lines to the log of a container of a pod.
func (s *Server) Say(namespace, pod, container string, lines ...string) {
	s.write(namespace, pod, container, false, lines)
}

// EndLog ends the log of a container.
func (s *Server) EndLog(namespace, pod, container string) {
	s.write(namespace, pod, container, true, nil)
}

func (s *Server) write(namespace, pod, container string, end bool, lines []string) {
	l := s.logOf(namespace, pod, container, true)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, text := range lines {
		l.lines = append(l.lines, time.Now().UTC().Format("2006-01-02T15:04:05.000000000Z07:00")+" "+text)
	}
	l.ended = l.ended || end
	close(l.news)
	l.news = make(chan struct{})
}

func (s *Server) logOf(namespace, pod, container string, make bool) *log {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := namespace + "/" + pod + "/" + container
	if s.logs[key] == nil && make {
		s.logs[key] = newLog()
	}
	return s.logs[key]
}

// log serves a log; a followed one until it ends.
func (s *Server) log(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/") // "" api v1 namespaces NS pods POD log
	l := s.logOf(parts[4], parts[6], r.URL.Query().Get("container"), false)
	if l == nil {
		fail(w, http.StatusNotFound, "NotFound", fmt.Sprintf("pods %q not found", parts[6]), Object{"name": parts[6], "kind": "pods"})
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusOK)
	sent := 0
	for {
		l.mu.Lock()
		lines, ended, news, stop := l.lines[sent:], l.ended, l.news, l.stop
		l.mu.Unlock()
		for _, text := range lines {
			fmt.Fprintln(w, text)
		}
		sent += len(lines)
		flush(w)
		if ended || r.URL.Query().Get("follow") != "true" {
			return
		}
		select {
		case <-news:
		case <-stop:
			panic(http.ErrAbortHandler) // a connection that breaks, not one that ends
		case <-r.Context().Done():
			return
		}
	}
}
