package platform

import "bflow.dev/bflow/runplan"

// Plans call the one variant of plain Deployments by these names.
const (
	nameRHAIIS = "rhaiis"
	modeRHAIIS = "raw-vllm"
)

// rhaiis is Red Hat AI Inference Server, deployed as platform kubernetes does it.
func rhaiis() Platform {
	p := kubernetes()
	p.Name, p.Modes = nameRHAIIS, []Mode{{Name: modeRHAIIS}}
	p.About = "Red Hat AI Inference Server as a Deployment"
	p.NeedsImage = func(*Block) bool { return true }
	p.Version = func(b *Block, image string) string {
		if tag := runplan.ImageTag(image); tag != "" && b.PlatformVersion == "" {
			return "RHAIIS-" + tag
		}
		return b.PlatformVersion
	}
	return p
}
