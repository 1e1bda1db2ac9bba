package cuda

import (
	"math"
	"slices"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/kernels"
)

// parcel collects what a partner of a step asks of the device, so that the numbers of all partners pass in one copy to
// the device and one back.
type parcel struct {
	sent, wanted  []transfer
	before, after []task // the kernels before and after the step
	queued        bool   // says that what comes now follows the step
}

// transfer is numbers of the host and their place on the device.
type transfer struct {
	at   kernels.Ptr
	host []float64
}

func (p *parcel) send(dst kernels.Ptr, src []float64) {
	p.sent = append(p.sent, transfer{dst, slices.Clone(src)})
}

func (p *parcel) receive(dst []float64, src kernels.Ptr) {
	p.wanted = append(p.wanted, transfer{src, dst})
}

func (p *parcel) start(t task) {
	if p.queued {
		p.after = append(p.after, t)
	} else {
		p.before = append(p.before, t)
	}
}

// room is where the parcels of partners pass on the device: the transfers, the words of the problems, the numbers that are
// sent, two results for each problem, and the numbers that are wanted.
type room struct {
	partners     []*partner
	sent, wanted []transfer
	problems     int64 // where their words begin
	results      int64
	end          int64
}

// systemWords is the number of words of a problem.
var systemWords = int64(len(kernels.System{}.Words()))

func newRoom(partners []*partner) room {
	r := room{partners: partners}
	for _, m := range partners {
		r.sent, r.wanted = append(r.sent, m.parcel.sent...), append(r.wanted, m.parcel.wanted...)
	}
	r.problems = kernels.MoveWords * int64(len(r.sent)+len(r.wanted))
	r.results = r.problems + systemWords*int64(len(partners)) + numbers(r.sent)
	r.end = r.results + 2*int64(len(partners)) + numbers(r.wanted)
	return r
}

func numbers(all []transfer) (sum int64) {
	for _, t := range all {
		sum += int64(len(t.host))
	}
	return sum
}

// pack returns the contents of the room up to the results, which are zero, for its address.
func (r room) pack(at kernels.Ptr) (words []int64) {
	next := r.results - numbers(r.sent)
	place := func(all []transfer) {
		for _, t := range all {
			words = append(words, int64(t.at), next, int64(len(t.host)))
			next += int64(len(t.host))
		}
	}
	place(r.sent)
	next += 2 * int64(len(r.partners))
	place(r.wanted)
	for i, m := range r.partners {
		m.problem.Out = at.Offset(8 * (r.results + 2*int64(i)))
		words = append(words, m.problem.Words()...)
	}
	for _, t := range r.sent {
		for _, v := range t.host {
			words = append(words, int64(math.Float64bits(v)))
		}
	}
	return append(words, make([]int64, 2*len(r.partners))...)
}

// lists returns what each stream does: the step for some partners, and what comes before and after it for each of them.
func (r room) lists(g *gpu, at kernels.Ptr) (all [][]task) {
	step, n, count := r.partners[0].step, r.partners[0].n, len(r.partners)
	width := (count + lockstepStreams - 1) / lockstepStreams
	for first := 0; first < count; first += width {
		own := r.partners[first:min(first+width, count)]
		problems := at.Offset(8 * (r.problems + systemWords*int64(first)))
		var list, after []task
		for _, m := range own {
			list, after = append(list, m.parcel.before...), append(after, m.parcel.after...)
		}
		for _, l := range step.launches(kernels.Systems{Problems: problems, Count: int64(len(own)), N: n, LD: leadingDim(n)}) {
			if l.Blocks > 0 {
				list = append(list, g.task(g.functions[l.Kernel], l))
			}
		}
		all = append(all, append(list, after...))
	}
	return all
}

// run runs the step of the partners, which is the same, and returns two results for each. An error stays in q.
func (l *lockstep) run(q *queue, partners []*partner) []float64 {
	r := newRoom(partners)
	q.need(&l.shared, &l.room, r.end)
	at := l.room.at
	q.then(func() error { return driver.Send(l.staging, at, r.pack(at)) })
	q.run(kernels.Move(at, 0, int64(len(r.sent)), false))
	q.then(func() error { return l.tracks.begin(r.lists(l.gpu, at)) })
	q.then(l.tracks.join)
	q.run(kernels.Move(at, int64(len(r.sent)), int64(len(r.wanted)), true))
	results := make([]float64, r.end-r.results)
	q.receive(results, at.Offset(8*r.results))
	if q.wait(); q.err != nil {
		l.tracks.settle()
		l.staging.Forget()
		return results
	}
	rest := results[2*len(partners):]
	for _, t := range r.wanted {
		rest = rest[copy(t.host, rest):]
	}
	return results
}
