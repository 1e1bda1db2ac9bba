package cpu

import (
	"context"

	cpublas "gpfit/cpu/blas"
	"gpfit/kernel"
)

// A reducer computes means and the reduction of the prior variance, k*ᵀΣ⁻¹k* = |v|²
// with L·v = k*. In one task a thread computes the covariances k* of a few panels of
// points, the means from them, v and |v|², all in its cache. If L is too large to be
// packed whole, the panels of some points stay in memory while its bands pass.
type reducer struct {
	w               *Workspace
	evaluators      []*kernel.Evaluator
	solve           *cpublas.ForwardSolve
	xs              *kernel.Points
	alpha           []float64
	mean, reduction []float64
	points          int // in one call of reduce, at most
}

const (
	// bandElements bounds the part of L that is packed at a time: 16 MiB, all of it up
	// to n = 2000.
	bandElements = 2 << 20
	// reduceFlops bounds the work between two reports of progress.
	reduceFlops = 3e10
	// panelElements bounds the panels in memory: 32 MiB, or more if many threads need a
	// panel each.
	panelElements = 4 << 20
	// maxPanelWidth is the largest number of points in a panel.
	maxPanelWidth = 24
	// groupPanels is the largest number of panels in a task. They share the rows of L
	// that come from memory.
	groupPanels = 8
	// tasksPerThread makes the wait for the last task short; with several bands, for
	// each of which the threads wait, the tasks share the bands among more panels.
	tasksPerThread, tasksPerBand = 8, 2
)

// predictNumbers returns the working space of predictions from n points, in numbers.
func predictNumbers(n, threads int) int64 {
	const padding = 80 // of L and of panels to whole tiles
	panel := int64(maxPanelWidth * (n + padding) * threads)
	scratch := int64(cpublas.ScratchRows * n * threads)
	if l := int64(n) * int64(n+padding) / 2; l <= bandElements {
		return l + max(panel, min(groupPanels*panel, panelElements)) + scratch
	}
	return bandElements + max(panel, panelElements) + scratch
}

func newReducer(w *Workspace, evaluators []*kernel.Evaluator) *reducer {
	if w.solve == nil {
		w.solve = w.dev.blas.NewForwardSolve(w.n, w.a, w.ld, bandElements)
	}
	r := &reducer{w: w, evaluators: evaluators, solve: w.solve}
	n, round := w.n, r.solve.Width()*w.dev.threads
	most := int(reduceFlops / (float64(n) * float64(n)))
	if r.solve.Bands() > 1 {
		most = min(most, panelElements/n)
	}
	r.points = max(1, most/round) * round
	return r
}

// reduce writes the results of points j0 … j1−1.
func (r *reducer) reduce(ctx context.Context, j0, j1 int) error {
	w, width := r.w, r.solve.Width()
	threads := w.dev.threads
	if (j1-j0)*w.n < serialBelow*serialBelow {
		threads = w.threadsFor(w.n)
	}
	t := reducerTasks{first: j0, last: j1, panels: (j1 - j0 + width - 1) / width, bands: r.solve.Bands()}
	if t.bands == 1 {
		t.group = max(1, min(groupPanels, t.panels/(tasksPerThread*threads), panelElements/(width*w.n*threads)))
		w.allocatePanels(threads, min(t.panels, threads*t.group))
	} else {
		t.group = max(1, min(groupPanels, t.panels/(tasksPerBand*threads)))
		w.allocatePanels(threads, t.panels)
	}
	for band := range t.bands {
		if err := parallelFor(ctx, threads, r.solve.Begin(band), func(_, item int) { r.solve.Pack(item) }); err != nil {
			return err
		}
		tasks := (t.panels + t.group - 1) / t.group
		if err := parallelFor(ctx, threads, tasks, func(worker, task int) { r.task(t, band, worker, task) }); err != nil {
			return err
		}
	}
	return nil
}

// reducerTasks divides points into groups of panels, a group for each task.
type reducerTasks struct {
	first, last          int // points
	panels, group, bands int
}

// task solves a band for a group of panels.
func (r *reducer) task(t reducerTasks, band, worker, task int) {
	w, width := r.w, r.solve.Width()
	p0, p1 := task*t.group, min((task+1)*t.group, t.panels)
	held := p0
	if t.bands == 1 {
		held = worker * t.group // no panel is needed again
	}
	group := w.panels[held : held+p1-p0]
	if band == 0 {
		for i, p := range group {
			r.load(p, worker, t.first+(p0+i)*width, t.last)
		}
	}
	r.solve.Solve(group)
	if band < t.bands-1 {
		return
	}
	for i, p := range group {
		j := t.first + (p0+i)*width
		r.solve.SquaredNorms(p, r.reduction[j:min(j+width, t.last)])
	}
}

// load fills a panel with the covariances of the points from j on, before last, and
// computes their means.
func (r *reducer) load(p *cpublas.Panel, worker, j, last int) {
	w := r.w
	r.solve.Load(p, min(r.solve.Width(), last-j), w.scratch[worker], func(i int, row []float64) {
		crossRow(r.evaluators[worker], row, r.xs, j+i, w.x)
		weigh(row, r.alpha, r.mean, j+i, r.xs.N)
	})
}

// allocatePanels makes sure that there are so many panels, and working space for each
// thread.
func (w *Workspace) allocatePanels(threads, panels int) {
	for len(w.panels) < panels {
		w.panels = append(w.panels, w.solve.NewPanel())
	}
	for len(w.scratch) < threads {
		w.scratch = append(w.scratch, make([]float64, cpublas.ScratchRows*w.n))
	}
}

// predictElements returns the working space that predictions hold, in numbers.
func (w *Workspace) predictElements() int {
	if w.solve == nil {
		return 0
	}
	held := w.solve.Numbers() + len(w.scratch)*cpublas.ScratchRows*w.n
	for _, p := range w.panels {
		held += p.Len()
	}
	return held
}
