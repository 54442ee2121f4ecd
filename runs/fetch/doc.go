// Package fetch copies the files of a run from its volume on a cluster to a local folder: it starts a pod that mounts
// the volume, reads the files through the API server's pod proxy, verifies the checksum of every file, and deletes
// the pod. An interrupted transfer resumes where it stopped.
//
// It must not know what the files mean, or print anything.
package fetch
