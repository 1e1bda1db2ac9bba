// Package each computes slices element by element.
package each

// Of returns f of each value.
func Of[T, U any](values []T, f func(T) U) []U {
	out := make([]U, len(values))
	for i, v := range values {
		out[i] = f(v)
	}
	return out
}
