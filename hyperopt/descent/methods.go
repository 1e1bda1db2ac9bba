package descent

// Methods lists all, the default first. LBFGS needs the fewest evaluations
// wherever the gradient is right; the others are there for comparison.
func Methods() []Method { return []Method{LBFGS{}, Adam{}, NelderMead{}} }

// MethodNames returns the names of all, the default first.
func MethodNames() []string {
	var names []string
	for _, m := range Methods() {
		names = append(names, m.Name())
	}
	return names
}

// MethodNamed returns the method of that name, nil if there is none.
func MethodNamed(name string) Method {
	for _, m := range Methods() {
		if m.Name() == name {
			return m
		}
	}
	return nil
}

// TakesMetric reports whether a method, nil for the default, makes use of a metric
// and leaves one.
func TakesMetric(m Method) bool {
	_, ok := m.(LBFGS)
	return ok || m == nil
}
