package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bflow.dev/bflow/tasks/contract"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// fromFolder returns the cluster whose kubeconfig lies in dir, with what else is said of it there.
func fromFolder(dir, namespace string) (*Cluster, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, keyKubeconfig))
	if err != nil {
		return nil, err
	}
	if err := aliased(cfg, filepath.Join(dir, contract.TargetHostAliases)); err != nil {
		return nil, err
	}
	nodes, err := selected(filepath.Join(dir, contract.TargetLoadNodes))
	if err != nil {
		return nil, err
	}
	c, err := New(cfg, namespace)
	if err == nil {
		c.Nodes = nodes
	}
	return c, err
}

// aliased lets cfg find the hosts that the file at path names, where there is one: a step cannot have aliases of its own,
// because its pod was described before its target was known.
func aliased(cfg *rest.Config, path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	hosts := map[string]string{}
	if err == nil {
		err = json.Unmarshal(data, &hosts)
	}
	if err != nil {
		return fmt.Errorf("reading the host aliases: %w", err)
	}
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, port, err := net.SplitHostPort(address); err == nil && hosts[host] != "" {
			address = net.JoinHostPort(hosts[host], port)
		}
		return dialer.DialContext(ctx, network, address)
	}
	return nil
}

// selected reads a node selector as a=b,c=d; nil where there is no file, or nothing in it.
func selected(path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the node selector of tasks: %w", err)
	}
	text := strings.TrimSpace(string(data))
	if text == "" {
		return nil, nil
	}
	nodes, err := labels.ConvertSelectorToLabelsMap(text)
	if err != nil {
		return nil, fmt.Errorf("reading the node selector of tasks %q: %w", text, err)
	}
	return nodes, nil
}
