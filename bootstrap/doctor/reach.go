package doctor

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// ReachReport is what a pod of bflow can reach. The pod prints it as JSON.
type ReachReport struct {
	Time time.Time `json:"time"` // by the clock of the node
	URLs []URL     `json:"urls"`
}

// URL is one attempt; any answer of a server is a success.
type URL struct {
	URL   string `json:"url"`
	Error string `json:"error,omitempty"`
}

// answerTimeout is how long a server may take to answer.
const answerTimeout = 10 * time.Second

// Reach tries all URLs at the same time.
func Reach(ctx context.Context, client *http.Client, now time.Time, urls []string) ReachReport {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	r := ReachReport{Time: now, URLs: make([]URL, len(urls))}
	var all sync.WaitGroup
	for i, url := range urls {
		r.URLs[i].URL = url
		all.Go(func() {
			if err := head(ctx, client, url); err != nil {
				r.URLs[i].Error = err.Error()
			}
		})
	}
	all.Wait()
	return r
}

func head(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, url, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}
