// Package audit compares the permissions that roles grant with those that the audit log of an API server shows in
// use. It serves least-privilege tests, and knows nothing of what the accounts are for.
package audit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Right is one thing that an account may do. Namespace is that of the binding which grants it, "" for one of the
// cluster.
type Right struct{ Account, Namespace, Verb, Group, Resource string }

// String is the right in the words of a person: "bench/bflow-runner may list pods in bench".
func (r Right) String() string {
	resource := r.Resource
	if r.Group != "" {
		resource += "." + r.Group
	}
	where := "everywhere"
	if r.Namespace != "" {
		where = "in " + r.Namespace
	}
	return fmt.Sprintf("%s may %s %s %s", r.Account, r.Verb, resource, where)
}

// Log is what an audit log shows of some accounts.
type Log struct {
	Used    map[Right]int // rights, by the binding that granted them
	Refused map[Right]int // requests that no binding granted; Namespace is that of the request
}

type event struct {
	Stage string `json:"stage"`
	Verb  string `json:"verb"`
	User  struct {
		Username string `json:"username"`
	} `json:"user"`
	ImpersonatedUser *struct {
		Username string `json:"username"`
	} `json:"impersonatedUser"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		APIGroup    string `json:"apiGroup"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Annotations map[string]string `json:"annotations"`
}

// granted finds the binding in the API server's own reason.
var granted = regexp.MustCompile(`allowed by (ClusterRoleBinding|RoleBinding) "([^"/]+)(?:/([^"]+))?"`)

// Read reads an audit log in JSON lines and keeps the requests of accounts that wanted says yes to, as namespace/name.
// Rights that come with every account, from bindings that mine does not know, are left out.
func Read(r io.Reader, wanted func(account string) bool, mine func(binding string) bool) (Log, error) {
	log := Log{Used: map[Right]int{}, Refused: map[Right]int{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 1<<20), 64<<20)
	for lines.Scan() {
		text := lines.Text()
		if !strings.Contains(text, `"system:serviceaccount:`) {
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return log, fmt.Errorf("reading an audit event: %w", err)
		}
		account := accountOf(e)
		// A watch that goes on has begun; everything else is told when it is over.
		over := e.Stage == "ResponseComplete" || e.Stage == "ResponseStarted" && e.Verb == "watch"
		if over && e.ObjectRef.Resource != "" && wanted(account) {
			log.add(account, e, mine)
		}
	}
	return log, lines.Err()
}

func accountOf(e event) string {
	name := e.User.Username
	if e.ImpersonatedUser != nil {
		name = e.ImpersonatedUser.Username
	}
	return strings.ReplaceAll(strings.TrimPrefix(name, "system:serviceaccount:"), ":", "/")
}

func (l Log) add(account string, e event, mine func(string) bool) {
	r := Right{
		Account: account, Verb: e.Verb, Group: e.ObjectRef.APIGroup, Resource: e.ObjectRef.Resource,
		Namespace: e.ObjectRef.Namespace,
	}
	if e.ObjectRef.Subresource != "" {
		r.Resource += "/" + e.ObjectRef.Subresource
	}
	if e.Annotations["authorization.k8s.io/decision"] == "forbid" ||
		e.ResponseStatus.Code == 403 && e.Annotations["authorization.k8s.io/decision"] == "" {
		l.Refused[r]++
		return
	}
	binding := granted.FindStringSubmatch(e.Annotations["authorization.k8s.io/reason"])
	if binding == nil || !mine(binding[2]) {
		return
	}
	r.Namespace = binding[3]
	l.Used[r]++
	if r.Verb == "patch" && e.ResponseStatus.Code == 201 { // an apply that makes the object needs both
		r.Verb = "create"
		l.Used[r]++
	}
}
