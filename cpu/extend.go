package cpu

import (
	"context"
	"fmt"

	"gpfit/device"
	"gpfit/kernel"
)

var _ device.FactorExtender = (*Workspace)(nil)

// ExtendFactor implements [device.FactorExtender].
func (w *Workspace) ExtendFactor(ctx context.Context, prog *kernel.Program, theta, noise []float64, known int) error {
	switch {
	case w.matrix == nil || w.written != known:
		return device.ErrStage
	case known < 0 || known > w.n:
		return fmt.Errorf("cpu: %d known rows of a factor of %d", known, w.n)
	case len(noise) != 1 && len(noise) != w.n:
		return fmt.Errorf("cpu: %d noise variances for %d points", len(noise), w.n)
	}
	w.written = 0
	if known == w.n {
		if _, err := w.bind(prog, theta); err != nil {
			return err
		}
		w.stage = stageFactored
		return nil
	}
	// The rows that share a panel with new ones are computed again.
	first := known - known%w.matrix.Lanes()
	if err := w.fillFrom(ctx, first, prog, theta, noise); err != nil {
		return err
	}
	w.begin("factor", (cube(w.n)-cube(first))/3)
	return w.factorFrom(ctx, first)
}
