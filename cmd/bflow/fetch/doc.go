// Package fetch brings the files of a run from its volume on a cluster to a folder of this host: it starts a pod that
// reads the volume, asks it through the API server's pod proxy, checks every file against its checksum, and deletes the
// pod. A transfer that was cut goes on where it stopped.
//
// It must not know what the files mean, nor print anything.
package fetch
