package runplan

import "strings"

// imageIdentity is what of an image reference counts in the hash: its digest, else repository path and tag.
// The registry host never counts, so that a mirror does not make another point.
func imageIdentity(ref string) string {
	if ref == "" {
		return ""
	}
	if _, digest, ok := strings.Cut(ref, "@"); ok {
		return digest
	}
	if host, path, ok := strings.Cut(ref, "/"); ok && isRegistry(host) {
		ref = path
	}
	ref = strings.TrimPrefix(ref, "library/")
	if !strings.Contains(ref[strings.LastIndex(ref, "/")+1:], ":") {
		ref += ":latest"
	}
	return ref
}

// isRegistry tells a registry host from the first part of a repository path, by the rule that all image tools share.
func isRegistry(first string) bool {
	return strings.ContainsAny(first, ".:") || first == "localhost"
}

// ImageTag is the tag of an image reference, empty where it has none.
func ImageTag(ref string) string {
	ref, _, _ = strings.Cut(ref, "@")
	name := ref[strings.LastIndex(ref, "/")+1:]
	_, tag, _ := strings.Cut(name, ":")
	return tag
}
