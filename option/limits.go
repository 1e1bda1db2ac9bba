package option

// The largest values of whole numbers that determine a size. A larger one is a mistake: it would take
// more memory or time than any machine has. Numbers without a limit here cost nothing, are compared
// with the free memory when the rows are known, or end by Ctrl-C with a result.
const (
	maxChains = 1000
	// maxDraws is the largest number of draws of a chain, and of its warm-up.
	maxDraws = 100_000
	// maxCheckPoints bounds the points of a kernel check, whose matrix then takes 200 MB, three times.
	maxCheckPoints = 5000
	maxCheckDraws  = 1000
	// maxCheckColumns bounds the columns of random points, 400 MB with the largest number of points.
	maxCheckColumns = 10_000
	maxShowColumns  = 1000
	maxShowDraws    = 1000
	maxBenchColumns = 1 << 20
	maxRepeat       = 10_000
	// maxProfilePoints bounds the points along a parameter.
	maxProfilePoints = 100_000
	maxTerms         = 100
	maxRetries       = 1000
	// maxSize is the largest number of rows of a subset: no table has more.
	maxSize = 1 << 40
	// maxWorkers bounds the numbers of cores, jobs and tasks.
	maxWorkers = 100_000
)
