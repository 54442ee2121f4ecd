// Package shard packs the points of a matrix into shards that fit into ConfigMaps, and reads them back. A shard holds
// its first point in full and the others as differences from it, compressed; one digest covers all shards. The
// package is pure, and it must not know more of a point than that it is a plan and a run, both JSON.
package shard
