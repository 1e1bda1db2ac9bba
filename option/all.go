package option

import (
	"slices"
	"sync"
)

// All returns the table. Help texts list the options of a group in its order. Run
// directories do the same, and the fingerprints of jobs depend on the order.
func All() Entries { return slices.Clone(all()) }

// Taken returns the options that a place takes, such as the command "fit".
func Taken(place string) Entries { return all().For(place) }

// all makes the table once: every command of the program takes its options from it.
var all = sync.OnceValue(func() Entries {
	return slices.Concat(programOptions(), runOptions(), kernelOptions(), predictOptions(), profileOptions(), dataOptions(), columnOptions(), modelOptions(), noiseOptions(),
		parameterOptions(), scoreOptions(), tuningOptions(), expertOptions(), posteriorOptions(), jointOptions(), outputOptions(), plotOptions(), deviceOptions())
})
