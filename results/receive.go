package results

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strconv"
	"sync"

	"bflow.dev/bflow/results/checksums"
)

// Upload is how much of a file has come.
type Upload struct {
	Have  int64 `json:"have"`  // bytes
	Whole bool  `json:"whole"` // all of it, with the right checksum, under its name
}

// receiver takes files in: in pieces that follow each other, into a file beside the one it is to become.
type receiver struct {
	root *os.Root
	mu   sync.Mutex // one piece at a time
}

// incoming is a file as its sender describes it.
type incoming struct {
	path, sum    string
	size, offset int64
}

// upload answers to what is asked of a file that comes: GET how much is there, PUT the piece that follows.
func (u *receiver) upload(w http.ResponseWriter, r *http.Request) {
	f, err := described(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	state, err := u.state(f)
	if err == nil && r.Method == http.MethodPut && !state.Whole {
		if f.offset != state.Have {
			http.Error(w, fmt.Sprintf("%d bytes are here: the piece is to begin there", state.Have), http.StatusConflict)
			return
		}
		state, err = u.take(f, r.Body)
	}
	switch {
	case errors.Is(err, errDamaged):
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	case full(err):
		http.Error(w, "there is no room for the file", http.StatusInsufficientStorage)
	case err != nil:
		fail(w, err)
	default:
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(state) //nolint:errcheck // the client is gone: nobody is left to be told
	}
}

var errDamaged = errors.New("the file that arrived has another checksum and was removed; send it again")

func described(r *http.Request) (f incoming, err error) {
	q := r.URL.Query()
	f = incoming{path: r.PathValue("path"), sum: q.Get("sha256")}
	if !fs.ValidPath(f.path) || f.path == "." {
		return f, errors.New("the path leads out of the folder")
	}
	if raw, err := hex.DecodeString(f.sum); err != nil || len(raw) != sha256.Size {
		return f, errors.New("sha256 must be a checksum in hex")
	}
	if f.size, err = strconv.ParseInt(q.Get("size"), 10, 64); err != nil || f.size < 0 {
		return f, errors.New("size must be a number of bytes")
	}
	if text := q.Get("offset"); text != "" {
		if f.offset, err = strconv.ParseInt(text, 10, 64); err != nil || f.offset < 0 {
			return f, errors.New("offset must be a number of bytes")
		}
	}
	return f, nil
}

// part is where a file grows: hidden, and another one for another content.
func (f incoming) part() string {
	return path.Join(path.Dir(f.path), "."+path.Base(f.path)+"."+f.sum[:12]+".part")
}

func (u *receiver) state(f incoming) (Upload, error) {
	if info, err := u.root.Stat(f.path); err == nil && info.Mode().IsRegular() && info.Size() == f.size {
		if sum, err := checksum(u.root, f.path); err == nil && sum == f.sum {
			return Upload{Have: f.size, Whole: true}, nil
		}
	}
	info, err := u.root.Stat(f.part())
	if errors.Is(err, fs.ErrNotExist) {
		return Upload{}, nil
	}
	if err != nil {
		return Upload{}, err
	}
	return Upload{Have: info.Size()}, nil
}

// take appends a piece. One that is cut leaves its beginning; the last one makes the file appear.
func (u *receiver) take(f incoming, body io.Reader) (Upload, error) {
	if err := u.root.MkdirAll(path.Dir(f.path), 0o755); err != nil {
		return Upload{}, err
	}
	out, err := u.root.OpenFile(f.part(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return Upload{}, err
	}
	n, err := io.Copy(out, io.LimitReader(body, f.size-f.offset))
	if err := errors.Join(err, out.Close()); err != nil {
		return Upload{}, err
	}
	if f.offset+n < f.size {
		return Upload{Have: f.offset + n}, nil
	}
	sum, err := checksum(u.root, f.part())
	if err != nil {
		return Upload{}, err
	}
	if sum != f.sum {
		return Upload{}, errors.Join(errDamaged, u.root.Remove(f.part()))
	}
	return Upload{Have: f.size, Whole: true}, u.root.Rename(f.part(), f.path)
}

func checksum(root *os.Root, path string) (string, error) {
	f, err := root.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum, _, err := checksums.Sum(f)
	return sum, err
}
