package device

// Meter counts the operations of a workspace and reports its progress. A workspace embeds one.
type Meter struct {
	// Flops are the operations so far.
	Flops    float64
	report   func(Progress)
	progress Progress
}

// OnProgress is the same as in [Workspace].
func (m *Meter) OnProgress(f func(Progress)) { m.report = f }

// Begin begins a stage that takes flops operations.
func (m *Meter) Begin(stage string, flops float64) {
	m.progress = Progress{Stage: stage, Total: flops}
}

// Worked counts operations and reports progress.
func (m *Meter) Worked(flops float64) {
	m.Flops += flops
	m.progress.Done = min(m.progress.Done+flops, m.progress.Total)
	if m.report != nil {
		m.report(m.progress)
	}
}
