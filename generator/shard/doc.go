// Package shard packs the points of a matrix into pieces that fit into ConfigMaps, and reads them back. A piece holds its
// first point whole and of each other one what differs, compressed; one digest covers all of them. The package is pure,
// and it must not know more of a point than that it is a plan and a run, both JSON.
package shard
