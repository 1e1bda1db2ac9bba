package descent

// Methods returns all methods, the default first.
func Methods() []Method { return []Method{LBFGS{}} }

// MethodNames returns the names of all methods, the default first.
func MethodNames() []string {
	var names []string
	for _, m := range Methods() {
		names = append(names, m.Name())
	}
	return names
}

// MethodNamed returns the method with the given name, or nil.
func MethodNamed(name string) Method {
	for _, m := range Methods() {
		if m.Name() == name {
			return m
		}
	}
	return nil
}

// TakesMetric reports whether a method, nil for the default, uses a metric and returns one.
func TakesMetric(m Method) bool {
	_, ok := m.(LBFGS)
	return ok || m == nil
}
