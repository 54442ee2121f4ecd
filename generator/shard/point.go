package shard

import (
	"encoding/json"
	"time"
)

const (
	// Schema names the format.
	Schema = "bflow.points/1"
	// Limit is how many bytes a piece may have when it is compressed: as base64 it fits into a ConfigMap, with room for
	// what stands beside it.
	Limit = 512 << 10
	// Longest bounds what is unpacked of a piece.
	Longest = 512 << 20
)

// Point is one run of a matrix: what it measures, and the object that starts it.
type Point struct {
	About
	Plan json.RawMessage // canonical JSON
	Run  json.RawMessage // JSON
}

// About is what is known of a point without unpacking it.
type About struct {
	Name     string        // of the plan
	Lane     string        // runs of one lane wait for each other: they share a queue
	Expected time.Duration // of the load; 0 = not known
}

// Header says where a piece belongs.
type Header struct {
	Schema string   `json:"schema"`
	Root   string   `json:"root"`  // hex SHA-256 over all pieces
	Total  int      `json:"total"` // points of all pieces
	First  int      `json:"first"` // place of the piece's first point, from 1
	Count  int      `json:"count"` // points of the piece
	Sums   []string `json:"sums"`  // hex SHA-256 of each piece before it was compressed
}

// Piece is a part of the points.
type Piece struct {
	Header Header
	Packed []byte // gzip
}

// line is a point in a piece: the first one whole, the others as edits of it.
type line struct {
	Name  string          `json:"n"`
	Lane  string          `json:"q,omitempty"`
	Time  int64           `json:"s,omitempty"` // seconds
	Plan  json.RawMessage `json:"plan,omitempty"`
	Run   json.RawMessage `json:"run,omitempty"`
	PlanE []edit          `json:"p,omitempty"`
	RunE  []edit          `json:"r,omitempty"`
}

func (l *line) about() About {
	return About{Name: l.Name, Lane: l.Lane, Expected: time.Duration(l.Time) * time.Second}
}
