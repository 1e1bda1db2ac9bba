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
	case w.a == nil || w.written != known:
		return device.ErrStage
	case known < 0 || known > w.n:
		return fmt.Errorf("cpu: %d known rows of a factor of %d", known, w.n)
	case len(noise) != 1 && len(noise) != w.n:
		return fmt.Errorf("cpu: %d noise variances for %d points", len(noise), w.n)
	}
	w.written = 0
	if err := w.fillFrom(ctx, known, prog, theta, noise); err != nil {
		return err
	}
	rest := w.n - known
	if rest == 0 {
		w.stage = stageFactored
		return nil
	}
	w.begin("factor", (cube(w.n)-cube(known))/3)
	below := w.at(known, 0)
	if err := w.solveRight(ctx, 0, known, below, w.ld, rest); err != nil {
		return err
	}
	if err := w.subtractSquare(ctx, known, rest, below, known); err != nil {
		return err
	}
	if err := w.cholesky(ctx, known, rest); err != nil {
		return err
	}
	w.stage = stageFactored
	return nil
}
