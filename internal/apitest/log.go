package apitest

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Previous names the log that a container had before it was restarted.
func Previous(container string) string { return container + " before" }

// log is what a container has written.
type log struct {
	mu    sync.Mutex
	lines []line
	ended bool
	news  chan struct{} // closed when there is more
	stop  chan struct{} // closed when the streams break
}

type line struct {
	at   time.Time
	text string
}

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

// EndLog ends the log of a container: who follows it is told so.
func (s *Server) EndLog(namespace, pod, container string) {
	s.write(namespace, pod, container, true, nil)
}

func (s *Server) write(namespace, pod, container string, end bool, lines []string) {
	l := s.logOf(namespace, pod, container, true)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, text := range lines {
		l.lines = append(l.lines, line{time.Now().UTC(), text})
	}
	l.ended = l.ended || end
	close(l.news)
	l.news = make(chan struct{})
}

func (s *Server) logOf(namespace, pod, container string, create bool) *log {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := namespace + "/" + pod + "/" + container
	if s.logs[key] == nil && create {
		s.logs[key] = &log{news: make(chan struct{}), stop: make(chan struct{})}
	}
	return s.logs[key]
}

// serveLog serves a log; a followed one until it ends.
func (x exchange) serveLog() {
	query := x.r.URL.Query()
	container := query.Get("container")
	if query.Get("previous") == "true" {
		container = Previous(container)
	}
	l := x.logOf(x.q.Namespace, x.q.Name, container, false)
	if l == nil {
		notFound(x.w, x.q)
		return
	}
	l.mu.Lock()
	stop := l.stop
	l.mu.Unlock()
	if x.isDown() { // since this request has come
		failDown(x.w)
		return
	}
	x.w.Header().Set("Content-Type", "text/plain")
	x.w.WriteHeader(http.StatusOK)
	for sent := 0; ; {
		l.mu.Lock()
		lines, ended := l.lines[sent:], l.ended
		news := l.news
		l.mu.Unlock()
		for _, one := range lines {
			if query.Get("timestamps") == "true" {
				fmt.Fprint(x.w, one.at.Format("2006-01-02T15:04:05.000000000Z07:00"), " ")
			}
			fmt.Fprintln(x.w, one.text)
		}
		sent += len(lines)
		flush(x.w)
		if ended || query.Get("follow") != "true" {
			return
		}
		select {
		case <-news:
		case <-stop:
			panic(http.ErrAbortHandler) // a connection that breaks, not one that ends
		case <-x.r.Context().Done():
			return
		}
	}
}
