package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bflow.dev/bflow/runplan/contract"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/clientcmd"
)

// fromFolder returns the cluster whose kubeconfig lies in dir, with what else is said of it there.
func fromFolder(dir, namespace string) (*Cluster, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, contract.KeyKubeconfig))
	if err != nil {
		return nil, err
	}
	c, err := New(cfg, namespace)
	if err != nil {
		return nil, err
	}
	if c.Part, err = selected(filepath.Join(dir, contract.KeyNodes)); err != nil {
		return nil, err
	}
	c.Nodes, err = selected(filepath.Join(dir, contract.KeyLoadNodes))
	return c, err
}

// selected reads a node selector as a=b,c=d; nil where there is no file, or nothing in it.
func selected(path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading a node selector: %w", err)
	}
	text := strings.TrimSpace(string(data))
	if text == "" {
		return nil, nil
	}
	nodes, err := labels.ConvertSelectorToLabelsMap(text)
	if err != nil {
		return nil, fmt.Errorf("reading node selector %q: %w", text, err)
	}
	return nodes, nil
}
