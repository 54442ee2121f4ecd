// Package tritontest is a fake Triton Inference Server for tests: it serves Triton's own protocol over HTTP.
package tritontest

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
)

// Server is a handler. It has no list of models in the way of OpenAI, and answers 400 for whatever is not ready.
type Server struct {
	Models  []string     // of its repository
	Loading atomic.Int64 // so many questions are asked before the models are loaded
}

// model is an entry of the index of the repository.
type model struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	State   string `json:"state"`
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ready := s.Loading.Add(-1) < 0
	name, isModel := strings.CutPrefix(r.URL.EscapedPath(), "/v2/models/")
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/v2":
		w.Write([]byte(`{"name":"triton","version":"2.51.0","extensions":["model_repository"]}`))
	case r.Method == http.MethodGet && r.URL.Path == "/v2/health/ready":
		status(w, ready)
	case r.Method == http.MethodPost && r.URL.Path == "/v2/repository/index":
		index := []model{}
		for _, name := range s.Models {
			state := "LOADING"
			if ready {
				state = "READY"
			}
			index = append(index, model{name, "1", state})
		}
		_ = json.NewEncoder(w).Encode(index)
	case r.Method == http.MethodGet && isModel && strings.HasSuffix(name, "/ready"):
		name, _, _ = strings.Cut(name, "/")
		status(w, ready && s.has(name))
	default:
		w.WriteHeader(http.StatusNotFound)
		w.Write([]byte(`{"error":"Not Found"}`))
	}
}

func (s *Server) has(escaped string) bool {
	for _, name := range s.Models {
		if strings.ReplaceAll(name, "/", "%2F") == escaped {
			return true
		}
	}
	return false
}

func status(w http.ResponseWriter, ready bool) {
	if !ready {
		w.WriteHeader(http.StatusBadRequest)
	}
}
