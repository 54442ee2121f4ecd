package outbound

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"bflow.dev/bflow/runplan"
)

// Proxy returns the proxy between bflow and a server under test at base, nil where there is none. What bflow has
// deployed lies beside it and is always reached straight. An address that was there before is reached as env says, the
// variables of the process (HTTP_PROXY, HTTPS_PROXY, NO_PROXY, also in small letters). Every task asks here, so that
// what is checked, measured and reported went one way.
func Proxy(base string, d *runplan.Deployment, api runplan.API, env func(string) string) (*url.URL, error) {
	if d.Endpoint == nil {
		return nil, nil
	}
	u, err := url.Parse(base)
	if err != nil {
		return nil, errors.New("reading endpoint: it is not a URL") // which may hold a credential, so it is not shown
	}
	first := func(name string) string {
		if v := env(name); v != "" {
			return v
		}
		return env(strings.ToLower(name))
	}
	c := httpproxy.Config{HTTPProxy: first("HTTP_PROXY"), HTTPSProxy: first("HTTPS_PROXY"), NoProxy: first("NO_PROXY")}
	proxy, err := c.ProxyFunc()(u)
	if err != nil || proxy == nil {
		return nil, err
	}
	if h := host(api.Headers); u.Scheme == "http" && h != "" && h != u.Host {
		return nil, fmt.Errorf("load.api.headers: Host cannot be set for an http:// address behind the proxy %q, "+
			"which goes by it: remove Host, or put the address into NO_PROXY", bare(proxy))
	}
	return proxy, nil
}

// host returns the header Host among headers, "" where it is not there.
func host(headers map[string]string) string {
	for name, value := range headers {
		if strings.EqualFold(name, "Host") {
			return value
		}
	}
	return ""
}

// SetHeaders sets headers of a request; Host too, which net/http takes from elsewhere.
func SetHeaders(req *http.Request, headers map[string]string) {
	for name, value := range headers {
		if strings.EqualFold(name, "Host") {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
}
