package devices

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// ProductPrefix begins the resource that stands for one product, such as bflow.dev/gpu-h100-80gb-hbm3. No node carries
// it: it exists in queues, so that a run may ask for a product as well as for a number.
const ProductPrefix = "bflow.dev/gpu-"

// maxName is how long the part of a resource name after the slash may be.
const maxName = 63

// IsProduct says whether name is one that Product makes.
func IsProduct(name string) bool { return strings.HasPrefix(name, ProductPrefix) }

// IsDevice says whether an extended resource of a node is an accelerator: whole GPUs, slices of them (MIG, AMD's
// partitions), Gaudi, TPU. CPU, memory, network cards and what else device plugins offer is none.
func IsDevice(name string) bool {
	domain, rest, ok := strings.Cut(name, "/")
	if !ok {
		return false
	}
	switch domain {
	case "nvidia.com":
		return rest == "gpu" || rest == "gpu.shared" || strings.HasPrefix(rest, "mig-")
	case "amd.com": // partitions of the mixed strategy are called cpx_nps4, dpx_nps2 and so on
		return rest == "gpu" || strings.Contains(rest, "px_nps") || strings.HasPrefix(rest, "spx")
	case "habana.ai":
		return rest == "gaudi" || rest == "goya"
	case "gpu.intel.com": // a card has one of the two names; the rest are shares and monitors of the same cards
		return rest == "i915" || rest == "xe"
	case "google.com":
		return rest == "tpu"
	case "aws.amazon.com": // cores and devices are the same silicon: only one name may count
		return rest == "neuron"
	}
	return dynamicDriver(domain)
}

// dynamicDriver says whether a driver of dynamic resource allocation offers accelerators: by its first word, since
// vendors call them gpu.nvidia.com, gpu.amd.com, gpu.intel.com, gaudi.intel.com. Others offer network cards.
func dynamicDriver(driver string) bool {
	first, _, _ := strings.Cut(driver, ".")
	switch first {
	case "gpu", "gaudi", "npu", "tpu", "neuron":
		return true
	}
	return false
}

// productOf returns the product of a node's resource as the vendor's labeller writes it, or "" where nobody tells.
func productOf(node *corev1.Node, name string) string {
	keys := []string{name + ".product", name + ".product-name"}
	switch domain, _, _ := strings.Cut(name, "/"); domain {
	case "nvidia.com": // the shared strategy renames the resource, not the label
		if strings.HasPrefix(name, "nvidia.com/gpu") {
			keys = append(keys, "nvidia.com/gpu.product", "cloud.google.com/gke-accelerator")
		}
	case "amd.com":
		keys = append(keys, "amd.com/gpu.product-name", "beta.amd.com/gpu.product-name")
	case "gpu.intel.com":
		keys = append(keys, "gpu.intel.com/product")
	case "google.com":
		keys = append(keys, "cloud.google.com/gke-tpu-accelerator")
	}
	for _, key := range keys {
		if v := node.Labels[key]; v != "" {
			return v
		}
	}
	if name == "habana.ai/gaudi" { // its operator labels nodes, not generations
		return "gaudi"
	}
	return ""
}

// Product returns the resource that stands for a product: lower case, "-" for what a name cannot hold, without the
// vendor in front. "NVIDIA-H100-80GB-HBM3" becomes bflow.dev/gpu-h100-80gb-hbm3. "" stays "".
func Product(label string) string {
	words := strings.FieldsFunc(strings.ToLower(label), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.'
	})
	for i, w := range words {
		words[i] = strings.Trim(w, ".")
	}
	if len(words) > 1 && (words[0] == "nvidia" || words[0] == "amd" || words[0] == "intel") {
		words = words[1:]
	}
	slug := strings.Join(words, "-")
	if slug == "" {
		return ""
	}
	_, stem, _ := strings.Cut(ProductPrefix, "/")
	return ProductPrefix + strings.TrimRight(slug[:min(len(slug), maxName-len(stem))], "-.")
}
