package device

// Weighed is a method on devices, judged for a workload.
type Weighed struct {
	Method Method
	// Plan is what the workload takes on each device. It is empty if Err is not nil: an
	// [*UnavailableError], an [*UnsupportedError], an [*UnsupportedKernelError] or a [*MemoryError].
	Plan Plan
	Err  error
	// Chosen means that it is the method that [Chosen] stands for.
	Chosen bool
}

// Weigh returns what each method would take for a workload on devices, and which one [Chosen] stands for, in the
// order of the methods. It allocates nothing. The devices stay open.
func Weigh(methods []Method, devices []Device, w Workload) []Weighed {
	out := make([]Weighed, len(methods))
	best := -1
	for i, m := range methods {
		out[i].Method = m
		found, err := supported(m, devices, w)
		if out[i].Err = err; err != nil {
			continue
		}
		out[i].Plan = found[0].Plan(w)
		if m.Exact() && (best < 0 || out[i].Plan.FlopsGradient < worthwhile*out[best].Plan.FlopsGradient) {
			best = i
		}
		var memory []Info
		for _, d := range devices {
			memory = append(memory, d.Info())
		}
		out[i].Err = out[i].Plan.Check(memory...)
	}
	if best >= 0 {
		out[best].Chosen = true
	}
	return out
}
