package mlflow

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Artifact is one file to upload.
type Artifact struct {
	File   string `json:"file"` // relative to the run directory
	Path   string `json:"path"` // below the run's artifacts, characters [A-Za-z0-9._-] and /
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// proxyPath is where the server's artifact proxy takes the files of a run. Other stores are not reachable over REST.
func proxyPath(info *RunInfo) (string, error) {
	u, err := url.Parse(info.ArtifactURI)
	if err != nil || u.Scheme != "mlflow-artifacts" {
		return "", fmt.Errorf("uploading artifacts of run %s: its store %q is not behind the server; start MLflow "+
			"with --artifacts-destination",
			info.RunID, info.ArtifactURI)
	}
	return "/api/2.0/mlflow-artifacts/artifacts/" + strings.Trim(u.Path, "/") + "/", nil
}

// upload puts every artifact that the server does not hold in full, twice where the first came out wrong: a broken
// upload may leave a cut file.
func (c *Client) upload(ctx context.Context, info *RunInfo, runDir string, list []Artifact) error {
	prefix, err := proxyPath(info)
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		held, err := c.sizes(ctx, info.RunID, list)
		if err != nil {
			return err
		}
		missing := 0
		for _, a := range list {
			if size, ok := held[a.Path]; ok && size == a.Size && try > 0 {
				continue
			}
			missing++
			if try == 3 {
				return fmt.Errorf("uploading artifact %q to %s: the server holds %d of %d bytes after three tries",
					a.Path, c.Base, held[a.Path], a.Size)
			}
			if err := c.put(ctx, prefix+a.Path, filepath.Join(runDir, a.File)); err != nil {
				return err
			}
		}
		if missing == 0 {
			return nil
		}
	}
}

func (c *Client) put(ctx context.Context, target, file string) error {
	body := func() (io.Reader, int64, error) {
		f, err := os.Open(file)
		if err != nil {
			return nil, 0, err
		}
		info, err := f.Stat()
		if err != nil {
			return nil, 0, err
		}
		if info.Size() == 0 { // a length of 0 with a body means "unknown" to net/http
			return http.NoBody, 0, f.Close()
		}
		return f, info.Size(), nil
	}
	return c.do(ctx, "uploading an artifact", call{http.MethodPut, target, body, "application/octet-stream"}, nil)
}

// sizes lists the folders of list and returns path -> size. Empty files have no size in the answer.
func (c *Client) sizes(ctx context.Context, runID string, list []Artifact) (map[string]int64, error) {
	out := map[string]int64{}
	folders := map[string]bool{}
	for _, a := range list {
		folders[path.Dir(a.Path)] = true
	}
	for folder := range folders {
		query := "artifacts/list?run_id=" + url.QueryEscape(runID)
		if folder != "." {
			query += "&path=" + url.QueryEscape(folder)
		}
		var answer struct {
			Files []struct {
				Path  string `json:"path"`
				IsDir bool   `json:"is_dir"`
				Size  int64  `json:"file_size"`
			} `json:"files"`
		}
		if err := c.get(ctx, "listing artifacts", query, &answer); err != nil {
			return nil, err
		}
		for _, f := range answer.Files {
			if !f.IsDir {
				out[f.Path] = f.Size
			}
		}
	}
	return out, nil
}

// Artifact returns a JSON file of a run.
func (c *Client) Artifact(ctx context.Context, runID, name string) ([]byte, error) {
	run, err := c.Run(ctx, runID)
	if err != nil {
		return nil, err
	}
	prefix, err := proxyPath(&run.Info)
	if err != nil {
		return nil, err
	}
	var data json.RawMessage
	err = c.do(ctx, "fetching "+name, call{method: http.MethodGet, path: prefix + name}, &data)
	return data, err
}
