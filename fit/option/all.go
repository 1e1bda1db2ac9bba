package option

import "slices"

// All returns the table. Its order is that of help texts within a group, and that of
// the options in run directories, on which the fingerprints of jobs depend.
func All() Options {
	return slices.Concat(dataOptions(), modelOptions(), noiseOptions(), parameterOptions(), scoreOptions(), tuningOptions(), jointOptions(), outputOptions(), deviceOptions())
}
