package green

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Digest is that of all files below a folder: their names, whether they can be executed, their bytes, and where links
// point. It is "" where there is no folder.
func Digest(folder string) (string, error) {
	folder, err := filepath.EvalSymlinks(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading what lies beside the repository: %w", err)
	}
	sum := sha256.New()
	err = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%q %v %d\n", rel, info.Mode()&(fs.ModeType|0o100), info.Size())
		return content(sum, name, d)
	})
	if err != nil {
		return "", fmt.Errorf("reading what lies beside the repository: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func content(w io.Writer, name string, d fs.DirEntry) error {
	if d.Type()&fs.ModeSymlink != 0 {
		to, err := os.Readlink(name)
		if err == nil {
			_, err = io.WriteString(w, to)
		}
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
