package spec

type codec struct{}

type flag struct {
	path Path
	text string
}
