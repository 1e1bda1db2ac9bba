package option

import "slices"

// All returns the table. Help texts list the options of a group in its order. Run
// directories do the same, and the fingerprints of jobs depend on the order.
func All() Options {
	return slices.Concat(dataOptions(), modelOptions(), noiseOptions(), parameterOptions(), scoreOptions(), tuningOptions(), jointOptions(), outputOptions(), deviceOptions())
}
