package graph

import (
	"math"
	"slices"

	"gpfit/device"
)

// differenceTraces subtracts ½T tr(Σ⁻¹Σ_iΣ⁻¹Σ_j) for a workspace that forms Σ quickly: the derivative
// of tr(Σ⁻¹Σ_j) with Σ_j fixed is −tr(Σ⁻¹Σ_iΣ⁻¹Σ_j), and central differences of contractions give it.
func (c *curvature) differenceTraces(h []float64) error {
	for i := range c.p {
		up, err := c.inverseAt(i, contractionStep)
		if err != nil {
			return err
		}
		down, err := c.inverseAt(i, -contractionStep)
		if err != nil {
			return err
		}
		for j := range c.p {
			for k := range up {
				// ½T, and both halves of the symmetric mean
				d := float64(c.targets) / 4 * c.slope(k, j) * (up[k] - down[k]) / (2 * contractionStep)
				h[i*c.p+j] += d
				h[j*c.p+i] += d
			}
		}
	}
	return c.restore()
}

// inverseAt returns tr(Σ⁻¹Σ_k) for the derivatives Σ_k by the logarithms of θ and of the noise variances
// at the present point, but Σ⁻¹ at the point whose i-th element is moved by step.
func (c *curvature) inverseAt(i int, step float64) ([]float64, error) {
	theta, params := slices.Clone(c.theta), len(c.theta)
	for q := range theta {
		theta[q] *= math.Exp(step * c.slope(q, i))
	}
	noise := make([]float64, c.ws.N())
	for j := range noise {
		noise[j] = c.noiseOf(j)
		if len(c.estimated) > 0 {
			group, factor := c.noisy.share(j)
			noise[j] += factor * c.estimated[group] * math.Expm1(step*c.slope(params+group, i))
		}
	}
	c.formed = false
	if err := c.ws.Form(c.ctx, c.prog, theta, noise); err != nil {
		return nil, err
	}
	defer func() {
		copy(c.solver.grad, c.grad)
		copy(c.solver.diag, c.diag)
	}()
	clear(c.solver.grad)
	if err := c.ws.Contract(c.ctx, device.Adjoint{Inv: 1}, c.prog, c.theta, c.solver.grad, c.solver.diag); err != nil {
		return nil, err
	}
	out := slices.Clone(c.solver.grad)
	for g, sum := range groupSums(c.solver, len(c.estimated)) {
		out = append(out, c.estimated[g]*sum)
	}
	return out, nil
}
