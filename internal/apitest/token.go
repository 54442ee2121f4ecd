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

// isAuthentic says whether a request carries a token that is taken.
func (x exchange) isAuthentic() bool {
	x.mu.Lock()
	taken := x.taken
	x.mu.Unlock()
	return taken == nil || taken(strings.TrimPrefix(x.r.Header.Get("Authorization"), "Bearer "))
}

// serveToken gives a token of an account that is there: token-NAMESPACE-ACCOUNT-NUMBER.
func (x exchange) serveToken() {
	var request Object
	if err := decode(x.r.Body, &request); err != nil {
		fail(x.w, http.StatusBadRequest, err.Error(), nil)
		return
	}
	account := strings.TrimSuffix(x.q.Path, "/token")
	if x.Get(account) == nil {
		notFound(x.w, x.q)
		return
	}
	spec, _ := request["spec"].(Object)
	seconds, _ := spec["expirationSeconds"].(int64)
	bound, _ := spec["boundObjectRef"].(Object)
	x.mu.Lock()
	x.tokens++
	n, life := x.tokens, time.Duration(seconds)*time.Second
	if x.mostToken > 0 {
		life = min(life, x.mostToken)
	}
	text := fmt.Sprintf("token-%s-%s-%d", x.q.Namespace, x.q.Name, n)
	if x.bound == nil {
		x.bound = map[string]Object{}
	}
	x.bound[text] = bound
	x.mu.Unlock()
	request["status"] = Object{"token": text, "expirationTimestamp": time.Now().Add(life).UTC().Format(time.RFC3339)}
	answer(x.w, http.StatusCreated, request)
}
