package results

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"syscall"

	"bflow.dev/bflow/results/checksums"
)

// Paths that are served.
const (
	PathHealth   = "/healthz"  // 200 as soon as files are served; asking it keeps nothing alive
	PathManifest = "/manifest" // Manifest as JSON; ?sums=false leaves out the checksums, which need all files to be read
	PathFiles    = "/files/"   // + path: the file, with byte ranges
	PathSums     = "/sums/"    // + path: its SHA-256 in hex; ?size=N covers the first N bytes
	PathUploads  = "/uploads/" // + path ?size=N&sha256=S: GET how much of it is here; PUT &offset=K the piece that follows
	PathEnd      = "/end"      // POST: nothing more is wanted
)

// HeaderToken carries the token of a server that asks for one. It is not Authorization, which an API server keeps for
// itself.
const HeaderToken = "X-Bflow-Token"

type handler struct {
	root *os.Root
	sums sums
}

// Handler serves the files below root.
func Handler(root *os.Root) http.Handler {
	h := &handler{root: root, sums: sums{known: map[sumKey]string{}}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+PathHealth, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET "+PathManifest, h.manifest)
	mux.HandleFunc("GET "+PathFiles+"{path...}", h.file)
	mux.HandleFunc("GET "+PathSums+"{path...}", h.sum)
	return mux
}

func (h *handler) manifest(w http.ResponseWriter, r *http.Request) {
	files, err := checksums.List(h.root.FS())
	if err != nil {
		fail(w, err)
		return
	}
	if r.URL.Query().Get("sums") != "false" {
		for i := range files {
			if files[i].SHA256, err = h.sums.of(h.root, files[i].Path, files[i].Size); err != nil {
				fail(w, err)
				return
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(Manifest{Files: files}) //nolint:errcheck // the client is gone: nobody is left to be told
}

func (h *handler) file(w http.ResponseWriter, r *http.Request) {
	path := r.PathValue("path")
	f, err := h.open(path)
	if err != nil {
		fail(w, err)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		fail(w, err)
		return
	}
	// Not sniffed, and never shown by a browser that was led here.
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", info.ModTime(), f)
}

func (h *handler) sum(w http.ResponseWriter, r *http.Request) {
	path := r.PathValue("path")
	f, err := h.open(path)
	if err != nil {
		fail(w, err)
		return
	}
	info, err := f.Stat()
	f.Close()
	if err != nil {
		fail(w, err)
		return
	}
	size := info.Size()
	if s := r.URL.Query().Get("size"); s != "" {
		if size, err = strconv.ParseInt(s, 10, 64); err != nil || size < 0 || size > info.Size() {
			http.Error(w, "size must be a number of bytes that the file has", http.StatusBadRequest)
			return
		}
	}
	sum, err := h.sums.of(h.root, path, size)
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write([]byte(sum + "\n"))
}

// open opens a regular file. os.Root refuses what leads out of the directory, by ".." or by a link.
func (h *handler) open(path string) (*os.File, error) {
	if !fs.ValidPath(path) {
		return nil, fs.ErrNotExist
	}
	info, err := h.root.Stat(path) // before opening: a pipe would block
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	return h.root.Open(path)
}

// fail answers without the words of the error, which name folders of this pod.
func fail(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, fs.ErrPermission):
		http.Error(w, "the file may not be read", http.StatusForbidden)
	case errors.Is(err, fs.ErrNotExist) || escapes(err):
		http.Error(w, "there is no such file", http.StatusNotFound)
	default:
		http.Error(w, "the file could not be read", http.StatusInternalServerError)
	}
}

// full says whether a disk, or what may be used of it, is full.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// escapes says whether os.Root refused a path, for which it has no error value of its own.
func escapes(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && path.Err != nil && path.Err.Error() == "path escapes from parent"
}
