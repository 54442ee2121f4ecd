package plan

import (
	"regexp"
	"strconv"
	"strings"

	"bflow.dev/bflow/generator/spec"
)

// Platforms of the format. The plain one runs every engine of ours.
const (
	plainPlatform = "rhaiis"
	plainMode     = "raw-vllm"
	rhoai         = "rhoai"
	llmd          = "llm-d"
)

// Defaults that depend on the platform.
const (
	rhoaiVersion = "3.3"
	rhoaiChannel = "fast-3.x"
	llmdRepo     = "https://github.com/llm-d/llm-d"
	llmdRef      = "main"
)

// canonicalMode gives platforms and modes that have two names the first one.
func canonicalMode(d *spec.DeploymentSpec) (platform, mode string) {
	switch {
	case d.Platform == "kubernetes" && d.Mode == "plain":
		return plainPlatform, plainMode
	case d.Platform == llmd && d.Mode == "optimized-baseline":
		return llmd, "inference-scheduling"
	case d.Platform == llmd && d.Mode == "precise-prefix-cache-routing":
		return llmd, "precise-prefix-cache"
	}
	return d.Platform, d.Mode
}

// llmService reports whether d is a rhoai LLMInferenceService.
func llmService(d *spec.DeploymentSpec) bool { return d.Platform == rhoai && d.Mode != "isvc" }

var releaseNumber = regexp.MustCompile(`(\d+)\.(\d+)\.(\d+)`)

// oldLayout reports whether an llm-d ref holds a version below 0.6.0, whose objects have other names.
func oldLayout(ref string) bool {
	m := releaseNumber.FindStringSubmatch(ref)
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return major == 0 && minor < 6
}

// imageTag is the tag of a reference, empty where it has none.
func imageTag(ref string) string {
	ref, _, _ = strings.Cut(ref, "@")
	name := ref[strings.LastIndex(ref, "/")+1:]
	_, tag, _ := strings.Cut(name, ":")
	return tag
}

// platformVersion is the version of what deploys the server.
func platformVersion(d *spec.DeploymentSpec, image string) string {
	switch d.Platform {
	case rhoai:
		if d.PlatformVersion == "" {
			return rhoaiVersion
		}
	case llmd:
		return d.RepoRef
	case plainPlatform:
		if tag := imageTag(image); tag != "" && d.PlatformVersion == "" {
			return "RHAIIS-" + tag
		}
	}
	return d.PlatformVersion
}
