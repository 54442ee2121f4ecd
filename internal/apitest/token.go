package apitest

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Authenticate lets f say whether a token is taken; without it everybody is. What is refused is answered 401.
func (s *Server) Authenticate(f func(token string) bool) { s.set(func() { s.taken = f }) }

// MostToken limits the life of the tokens that the server gives; 0 = what is asked for.
func (s *Server) MostToken(life time.Duration) { s.set(func() { s.mostToken = life }) }

// Bound is what a token that the server gave is bound to, nil for nothing.
func (s *Server) Bound(token string) Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bound[token]
}

// authentic says whether a request carries a token that is taken.
func (s *Server) authentic(r *http.Request) bool {
	s.mu.Lock()
	taken := s.taken
	s.mu.Unlock()
	return taken == nil || taken(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
}

// token gives a token of an account that is there: token-NAMESPACE-ACCOUNT-NUMBER.
func (s *Server) token(w http.ResponseWriter, r *http.Request, q Request) {
	var request Object
	if err := decode(r.Body, &request); err != nil {
		fail(w, http.StatusBadRequest, err.Error(), nil)
		return
	}
	account := strings.TrimSuffix(q.Path, "/token")
	if s.Get(account) == nil {
		notFound(w, q)
		return
	}
	spec, _ := request["spec"].(Object)
	seconds, _ := spec["expirationSeconds"].(int64)
	bound, _ := spec["boundObjectRef"].(Object)
	s.mu.Lock()
	s.tokens++
	n, life := s.tokens, time.Duration(seconds)*time.Second
	if s.mostToken > 0 {
		life = min(life, s.mostToken)
	}
	text := fmt.Sprintf("token-%s-%s-%d", q.Namespace, q.Name, n)
	if s.bound == nil {
		s.bound = map[string]Object{}
	}
	s.bound[text] = bound
	s.mu.Unlock()
	request["status"] = Object{"token": text, "expirationTimestamp": time.Now().Add(life).UTC().Format(time.RFC3339)}
	answer(w, http.StatusCreated, request)
}
