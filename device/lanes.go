package device

// One matrix of busyRows rows keeps an accelerator busy. Below, the share of the time in which it does something is about
// the share of the rows (benchmarks/results has the rates of an H100).
const (
	busyRows  = 12000
	mostLanes = 16
)

// LaneFree reports whether work on a matrix of more rows may join the work on an accelerator: on so many matrices with so
// many rows in all, each in a lane of its own.
func LaneFree(matrices, rows, more int) bool {
	return matrices == 0 || matrices < mostLanes && rows+more <= busyRows
}

// Lanes returns how many matrices of a number of rows keep an accelerator busy.
func Lanes(rows int) (lanes int) {
	for lanes = 1; LaneFree(lanes, lanes*rows, rows); lanes++ {
	}
	return lanes
}
