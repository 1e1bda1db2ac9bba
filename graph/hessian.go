package graph

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/method/merged"
)

// Second derivatives of the negative log marginal likelihood f by log-parameters. With Σ_i =
// ∂Σ/∂z_i, α = P(y) and P = Σ⁻¹ − Σ⁻¹H(HᵀΣ⁻¹H)⁻¹HᵀΣ⁻¹ for a mean Hβ with β̂, else P = Σ⁻¹, and
// with G the adjoint of Σ,
//
//	∂²f/∂z_i∂z_j = αᵀΣ_iPΣ_jα − ½ tr(Σ⁻¹Σ_iΣ⁻¹Σ_j) + ⟨G, ∂²Σ/∂z_i∂z_j⟩,
//
// summed over the targets. Its mean with the expected Hessian ½ tr(Σ⁻¹Σ_iΣ⁻¹Σ_j) has no trace:
// but for its last term, which is 0 in expectation, it is the average information ½ αᵀΣ_iPΣ_jα
// (Gilmour, Thompson & Cullis, Biometrics 51 (1995), 1440).

// Curvature returns second derivatives at the point of the last ValueGradient, p×p by the elements
// of z: the Hessian if exact, otherwise the average information plus the curvature of the priors
// where that is positive, which is positive semidefinite.
//
// The average information takes O(p·n²) operations. The Hessian takes as many for each of 32 to
// 64 random vectors, always the same ones, that estimate the traces (Hutchinson,
// Communications in Statistics 19 (1990), 433); up to exactTraces points, and on workspaces that form Σ
// quickly, it is exact, but for differences of contractions. Errors are [*device.UnsupportedError], also for leave-one-out
// objectives, and the errors of the workspace.
func (o *Objective) Curvature(ctx context.Context, exact bool) ([]float64, error) {
	c, err := newCurvature(ctx, o)
	if err != nil {
		return nil, err
	}
	if w, ok := c.ws.(device.QuickForming); exact && ok && w.FormsQuickly() {
		c.close()
		return o.differences(ctx, c)
	}
	defer c.close()
	h, err := c.derivatives(exact)
	if err != nil { // a cancellation empties the workspace
		c.formed, c.solved = false, false
	}
	return h, err
}

// gradientStep is the step of differences of gradients, in log units. The third derivatives leave a relative error of
// about 1e-5, and rounding leaves less: a descent needs no more digits.
const gradientStep = 1e-5

// differences returns the Hessian from differences of the gradient, and evaluates the present point again. For a
// workspace that forms Σ quickly this takes less than random vectors do.
func (o *Objective) differences(ctx context.Context, c *curvature) ([]float64, error) {
	h, here, moved := make([]float64, c.p*c.p), make([]float64, c.p), make([]float64, c.p)
	if _, err := o.ValueGradient(ctx, c.z, here); err != nil { // it costs nothing at the point of the last one
		return nil, err
	}
	for j := range c.p {
		z := slices.Clone(c.z)
		z[j] += gradientStep
		if _, err := o.ValueGradient(ctx, z, moved); err != nil {
			return nil, err
		}
		for i := range c.p {
			d := (moved[i] - here[i]) / (2 * gradientStep) // both halves of the symmetric mean
			h[i*c.p+j] += d
			h[j*c.p+i] += d
		}
	}
	_, err := o.ValueGradient(ctx, c.z, here)
	return h, err
}

// derivatives returns what Curvature does.
func (c *curvature) derivatives(exact bool) ([]float64, error) {
	h, err := c.information()
	if err != nil {
		return nil, err
	}
	rest, err := c.chainCurvature()
	if err != nil {
		return nil, err
	}
	if !exact {
		if at := c.lambda(); at >= 0 { // what the residual adds is no mean of two Hessians
			h[at*c.p+at] *= 2
		}
		for i := range c.p {
			h[i*c.p+i] += max(0, rest[i*c.p+i])
		}
		return h, nil
	}
	floats.Scale(2, h)
	floats.Add(h, rest)
	for _, add := range []func([]float64) error{c.subtractTraces, c.addSecondDerivatives, c.addCoefficients} {
		if err := add(h); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// exactTraces is the number of points up to which traces are exact; beyond it, random vectors
// estimate them.
const exactTraces = 32

// Probes returns the number of vectors from which [Objective.Curvature] estimates traces for n points.
// An error of the curvature costs steps. The relative error of a trace falls with the number of vectors and with the
// number of points, so that many points need fewer.
func Probes(n int) int { return min(n, max(exactTraces, min(64, n/16, 1<<16/n))) }

// subtractTraces subtracts ½T tr(Σ⁻¹Σ_iΣ⁻¹Σ_j) = ½T tr(M_iM_j) with M_i = L⁻¹Σ_iL⁻ᵀ.
func (c *curvature) subtractTraces(h []float64) error {
	n := c.ws.N()
	rows := merged.Inner(c.ws).N() // of the matrix
	probes := Probes(n)
	if rows < n {
		probes = max(exactTraces, Probes(rows))
	}
	factor := -0.5 * float64(c.targets)
	if probes < n {
		factor /= float64(probes)
	}
	rng := rand.New(rand.NewPCG(0x7472616365, uint64(n)))
	// The products take no more memory than a sixteenth of the matrix, or 8 MB.
	batch := max(1, min(probes, max(1<<20, rows*rows/16)/(n*c.p)))
	for first := 0; first < probes; first += batch {
		m := min(batch, probes-first)
		u := make([]float64, n*m)
		for k := range m {
			if probes == n {
				u[k*n+first+k] = 1
				continue
			}
			for i := range n {
				u[k*n+i] = float64(rng.IntN(2)*2 - 1)
			}
		}
		if err := c.products.Whiten(c.ctx, u, m, true); err != nil {
			return err
		}
		moved, err := c.multiply(u, m)
		if err != nil {
			return err
		}
		if err := c.products.Whiten(c.ctx, moved, m*c.p, false); err != nil {
			return err
		}
		for k := range m {
			addGram(h, moved[k*c.p*n:(k+1)*c.p*n], c.p, factor)
		}
	}
	return nil
}

// contractionStep is the step of differences of contractions with a fixed adjoint, in log units.
// The third derivatives leave a relative error of 1e-10, or 1e-5 for a wave of 50 turns; rounding
// leaves 1e-9.
const contractionStep = 2e-5

// addSecondDerivatives adds ⟨G, ∂²Σ/∂z_i∂z_j⟩. By the kernel's parameters it takes central
// differences of ⟨G, ∂K/∂log θ⟩ with G fixed, which need no factorization.
func (c *curvature) addSecondDerivatives(h []float64) error {
	params := len(c.theta)
	for j := range c.p {
		shift := make([]float64, params)
		for q := range shift {
			shift[q] = c.slope(q, j)
		}
		if floats.Norm(shift, math.Inf(1)) == 0 {
			continue
		}
		up, err := c.contractAt(shift, contractionStep)
		if err != nil {
			return err
		}
		down, err := c.contractAt(shift, -contractionStep)
		if err != nil {
			return err
		}
		floats.Sub(up, down)
		for i := range c.p {
			for q, d := range up {
				d *= c.slope(q, i) / (4 * contractionStep) // both halves of the symmetric mean
				h[i*c.p+j] += d
				h[j*c.p+i] += d
			}
		}
	}
	c.addNoise(h, 1)
	return nil
}
