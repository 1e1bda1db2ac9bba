package experts

import "gpfit/device"

// tracker adds up the progress of experts.
type tracker struct {
	w           *workspace
	work, share []float64
	total       float64
}

// track prepares reports of progress of a call with this work.
func (w *workspace) track(work func(e *expert) float64) *tracker {
	t := &tracker{w: w}
	if w.progress == nil {
		return t
	}
	for _, e := range w.experts {
		t.work = append(t.work, work(e))
		t.total += work(e)
	}
	t.share = make([]float64, len(w.experts))
	return t
}

// begin passes on the reports of an expert.
func (t *tracker) begin(k int) {
	ws := t.w.experts[k].ws
	if t.w.progress == nil {
		ws.OnProgress(nil)
		return
	}
	ws.OnProgress(func(p device.Progress) {
		t.w.told.Lock()
		defer t.w.told.Unlock()
		t.share[k] = min(1, p.Done/max(p.Total, 1))
		done := 0.0
		for q, share := range t.share {
			done += share * t.work[q]
		}
		t.w.progress(device.Progress{Stage: p.Stage, Done: done, Total: t.total})
	})
}

// end notes that an expert is done.
func (t *tracker) end(k int) {
	if t.share != nil {
		t.w.told.Lock()
		defer t.w.told.Unlock()
		t.share[k] = 1
	}
}
