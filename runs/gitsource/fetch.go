package gitsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/storage/memory"
)

// Fetch takes the files of s.
func Fetch(ctx context.Context, s Source, o Options) (*Files, error) {
	o = o.withDefaults()
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("it took more than %s", o.Timeout))
	defer cancel()
	files, err := fetch(ctx, s, o)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("reading the git repository: %w", err)
	}
	return files, nil
}

func fetch(ctx context.Context, s Source, o Options) (*Files, error) {
	r, err := open(ctx, &s, o)
	if err != nil {
		return nil, err
	}
	commit, err := r.resolve(s.Revision)
	if err != nil {
		return nil, err
	}
	if s.TrustedOnly {
		if err := r.requireTrusted(ctx, commit); err != nil {
			return nil, err
		}
	}
	objects, err := r.take(ctx, commit)
	if err != nil {
		return nil, err
	}
	return filesOf(objects, commit, s.Paths)
}

// remote is a repository on a server.
type remote struct {
	host    string
	session transport.UploadPackSession
	refs    map[string]plumbing.Hash        // by full name; tags as the commit they stand for
	tips    map[plumbing.Hash]plumbing.Hash // commits that a ref stands for, by what the server calls them
	head    plumbing.Hash
	can     *capability.List
}

// open asks the server for its refs.
func open(ctx context.Context, s *Source, o Options) (*remote, error) {
	u, err := s.check()
	if err != nil {
		return nil, err
	}
	user, password, err := o.login(u)
	if err != nil {
		return nil, err
	}
	endpoint, err := transport.NewEndpoint(u.String())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", u, err)
	}
	var auth transport.AuthMethod
	if password != "" {
		auth = &githttp.BasicAuth{Username: user, Password: password}
	}
	client := githttp.NewClient(&http.Client{Transport: &bounded{next: o.Transport, left: o.MaxBytes, most: o.MaxBytes}})
	session, err := client.NewUploadPackSession(endpoint, auth)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", u, err)
	}
	r := &remote{host: u.Host, session: session, refs: map[string]plumbing.Hash{}, tips: map[plumbing.Hash]plumbing.Hash{}}
	offered, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return nil, explain(u.String(), keyOf(u), password != "", err)
	}
	for name, hash := range offered.References {
		commit, tagged := offered.Peeled[name]
		if !tagged {
			commit = hash
		}
		r.refs[name], r.tips[commit] = commit, hash
	}
	if offered.Head != nil {
		r.head, r.tips[*offered.Head] = *offered.Head, *offered.Head
	}
	r.can = offered.Capabilities
	return r, nil
}

// refused says what to do about an answer that is none.
func explain(url, key string, known bool, err error) error {
	switch {
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return fmt.Errorf("%s: there is no such repository, or it is private; credentials go into Secret bflow-git "+
			"under key %q", url, key)
	case errors.Is(err, transport.ErrAuthenticationRequired) && !known:
		return fmt.Errorf("%s: the server requires authentication; put a token into Secret bflow-git under key %q", url, key)
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		return fmt.Errorf("%s: the server rejects the credentials under key %q of Secret bflow-git", url, key)
	}
	return fmt.Errorf("%s: %w", url, err)
}

var whole = regexp.MustCompile(`^[0-9a-f]{40}$`)

// resolve finds the commit that a revision stands for, a branch before a tag.
func (r *remote) resolve(revision string) (plumbing.Hash, error) {
	if revision == "" || revision == "HEAD" {
		if r.head.IsZero() {
			return r.head, errors.New("it has no default branch; name a revision")
		}
		return r.head, nil
	}
	for _, name := range []string{revision, "refs/heads/" + revision, "refs/tags/" + revision} {
		if hash, ok := r.refs[name]; ok {
			return hash, nil
		}
	}
	if whole.MatchString(revision) {
		return plumbing.NewHash(revision), nil
	}
	return plumbing.ZeroHash, fmt.Errorf("it has no branch or tag %q; give a commit with all of its 40 digits", revision)
}

// take fetches a commit with its files. One that no ref names is asked for by name where the server gives it, and else
// looked for in the history of the branches.
func (r *remote) take(ctx context.Context, commit plumbing.Hash) (*memory.Storage, error) {
	wants, depth := []plumbing.Hash{commit}, 1
	if tip, ok := r.tips[commit]; ok {
		wants[0] = tip
	} else if !r.can.Supports(capability.AllowReachableSHA1InWant) && !r.can.Supports(capability.AllowTipSHA1InWant) {
		wants, depth = r.branches(), deepest
	}
	objects, err := r.pack(ctx, wants, depth, packp.FilterBlobLimit(maxFile>>10, packp.BlobLimitPrefixKibi))
	if err != nil && strings.Contains(err.Error(), "not our ref") {
		return nil, fmt.Errorf("it has no commit %s", commit)
	}
	if err != nil {
		return nil, err
	}
	if _, ok := objects.Commits[commit]; !ok {
		return nil, fmt.Errorf("no branch contains commit %s among its last %d", commit, deepest)
	}
	return objects, nil
}

// branches are the heads of the repository itself: forks have theirs under other names.
func (r *remote) branches() []plumbing.Hash {
	var heads []plumbing.Hash
	for name, hash := range r.refs {
		if strings.HasPrefix(name, "refs/heads/") && !slices.Contains(heads, hash) {
			heads = append(heads, hash)
		}
	}
	return heads
}

// pack asks for commits down to a depth, without what filter leaves out where the server knows filters.
func (r *remote) pack(
	ctx context.Context, wants []plumbing.Hash, depth int, filter packp.Filter,
) (*memory.Storage, error) {
	req := packp.NewUploadPackRequestFromCapabilities(r.can)
	req.Wants = wants
	if r.can.Supports(capability.Shallow) {
		req.Depth = packp.DepthCommits(depth)
		_ = req.Capabilities.Set(capability.Shallow) // the server has just named it
	}
	if r.can.Supports(capability.Filter) {
		req.Filter = filter
		_ = req.Capabilities.Set(capability.Filter)
	}
	if len(wants) == 0 {
		return nil, errors.New("it has no branch")
	}
	answer, err := r.session.UploadPack(ctx, req)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	objects := memory.NewStorage()
	if err := packfile.UpdateObjectStorage(objects, demuxed(req.Capabilities, answer)); err != nil {
		return nil, err
	}
	return objects, nil
}

// demuxed takes the server's chatter out of the pack.
func demuxed(used *capability.List, answer io.Reader) io.Reader {
	switch {
	case used.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, answer)
	case used.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, answer)
	}
	return answer
}

// bounded ends answers that are too long, all of a conversation together.
type bounded struct {
	next http.RoundTripper
	left int64
	most int64
}

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(req)
	if err == nil {
		answer.Body = &boundedBody{ReadCloser: answer.Body, b: b}
	}
	return answer, err
}

type boundedBody struct {
	io.ReadCloser
	b *bounded
}

// Read implements io.Reader.
func (r *boundedBody) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if r.b.left -= int64(n); r.b.left < 0 {
		return 0, fmt.Errorf("its files at this commit are more than %d MiB; use a smaller repository for experiments",
			r.b.most>>20)
	}
	return n, err
}
