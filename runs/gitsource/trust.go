package gitsource

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/storage/memory"
)

// deepest is how far back the history of branches is looked at.
const deepest = 500

// UntrustedError is a commit that is not of the repository itself. Servers give the commits of forks to everybody who
// names them, as if they were the repository's own.
type UntrustedError struct{ Commit string }

func (e *UntrustedError) Error() string {
	return fmt.Sprintf("commit %s is on no branch of the repository (among the last %d commits of each): it may come "+
		"from a fork, whose files must not run with the credentials here; push it to a branch of the repository itself",
		e.Commit, deepest)
}

// requireTrusted refuses a commit that no branch of the repository holds. Who may write a branch may be trusted with
// what the branch is used for; who may propose a change may not.
func (r *remote) requireTrusted(ctx context.Context, commit plumbing.Hash) error {
	heads := r.branches()
	if slices.Contains(heads, commit) {
		return nil
	}
	if len(heads) == 0 {
		return &UntrustedError{Commit: commit.String()}
	}
	history, err := r.pack(ctx, heads, deepest, packp.FilterTreeDepth(0))
	if err != nil {
		return fmt.Errorf("reading the history of its branches: %w", err)
	}
	if !holds(history, heads, commit) {
		return &UntrustedError{Commit: commit.String()}
	}
	return nil
}

// holds reports whether commit is among the ancestors of heads, as far as they are known.
func holds(objects *memory.Storage, heads []plumbing.Hash, commit plumbing.Hash) bool {
	visited := map[plumbing.Hash]bool{}
	for len(heads) > 0 {
		hash := heads[0]
		heads = heads[1:]
		if hash == commit {
			return true
		}
		if visited[hash] {
			continue
		}
		visited[hash] = true
		if c, err := object.GetCommit(objects, hash); err == nil { // what lies deeper was not asked for
			heads = append(heads, c.ParentHashes...)
		}
	}
	return false
}
