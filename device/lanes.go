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

// Laned is a device that has lanes.
type Laned interface {
	Device
	// Lane opens another lane of the same accelerator: a device whose work waits for the work of no other lane. The bits of
	// results do not depend on the lane.
	Lane() (Device, error)
}

// withLanes adds lanes to open devices for the parts of a request, as many as keep them busy and have room in their memory.
// The first devices stay the first. A lane that cannot be opened is no error: there are fewer.
func (f Found) withLanes(req Request, devices []Device, on []Backend) []Device {
	all := devices
	for wanted, round := req.Parts, 1; len(all) < wanted; round++ {
		before := len(all)
		for i, d := range devices {
			laned, ok := d.(Laned)
			if !ok || len(all) == wanted || i >= len(on) || round >= room(on[i], req.Workload) {
				continue
			}
			if lane, err := laned.Lane(); err == nil {
				all = append(all, lane)
			}
		}
		if len(all) == before {
			break
		}
	}
	return all
}

// room returns how many matrices of a workload keep the device of a backend busy and fit in its memory.
func room(b Backend, w Workload) int {
	if w.N == 0 || b.Info().Host {
		return 1
	}
	plan := b.Plan(w)
	lanes, bytes, free := Lanes(DenseSize(plan, plan.N)), plan.DeviceBytes(), b.Info().MemoryFree
	if free > 0 && bytes > 0 {
		const spare = 1 // for a matrix that stays while others are made
		lanes = min(lanes, int(free/10*9/bytes)-spare)
	}
	return max(1, lanes)
}
