package shape

// List is a value or a list of values. A list here is never an axis of a matrix.
type List[T any] []T

// OneOrMany marks a list for which a single value may stand.
func (List[T]) OneOrMany() {}
