package graph

import (
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/internal/transform"
)

// curvature computes second derivatives at one point.
type curvature struct {
	*solver
	objective *Objective
	products  device.DerivativeProducts
	p         int // elements of z
	z         []float64
	// jacobian has the derivatives of the logarithms of θ and of the noise variances by z,
	// p numbers for each; nil if the first elements of z are these logarithms.
	jacobian []float64
	// grad and diag are the solver's results of the contraction, which chain replaces meanwhile.
	grad, diag []float64
	// moved are, for one target after the other, the columns Σ_i α of the p elements.
	moved []float64
}

func newCurvature(ctx context.Context, o *Objective) (*curvature, error) {
	s := o.solver
	products, err := device.Capability[device.DerivativeProducts](s.ws, "second derivatives")
	switch {
	case err != nil:
		return nil, err
	case s.leavesOut || s.logDetStdErr != 0:
		return nil, &device.UnsupportedError{Method: s.ws.Method(), What: "second derivatives of this objective"}
	case !s.solved || !s.contracted:
		return nil, errors.New("graph: second derivatives need a gradient first")
	}
	s.ctx = ctx
	c := &curvature{solver: s, objective: o, products: products, p: len(o.IsLog()), grad: slices.Clone(s.grad), diag: slices.Clone(s.diag)}
	for _, v := range o.vars {
		c.z = append(c.z, v.get()...)
	}
	if err := s.restore(); err != nil {
		c.close()
		return nil, err
	}
	if o.hasDerived() {
		if err := c.differentiateChain(); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

// close leaves graph and solver as they were.
func (c *curvature) close() {
	if c.objective.prior != nil || c.jacobian != nil || c.lambda() >= 0 {
		_, _ = c.chain(c.z, c.grad, c.diag)
	}
	c.ctx = context.Background()
}

// logs returns the number of logarithms of θ and of the noise variances.
func (c *curvature) logs() int { return len(c.theta) + len(c.estimated) }

// slope returns the derivative of the k-th of these logarithms by z_i.
func (c *curvature) slope(k, i int) float64 {
	switch {
	case c.jacobian != nil:
		return c.jacobian[k*c.p+i]
	case k == i:
		return 1
	}
	return 0
}

// multiply returns the columns Σ_i v for the p elements of z and m columns v, n×(p·m): the columns
// of one v follow each other.
func (c *curvature) multiply(v []float64, m int) ([]float64, error) {
	n, params := c.ws.N(), len(c.theta)
	parts := make([]float64, n*m*params)
	if err := c.products.MultiplyDerivatives(c.ctx, c.prog, c.theta, v, m, parts); err != nil {
		return nil, err
	}
	out := make([]float64, n*m*c.p)
	for k := range m {
		for i := range c.p {
			dst := out[(k*c.p+i)*n:][:n]
			for q := range params {
				if f := c.slope(q, i); f != 0 {
					floats.AddScaled(dst, f, parts[(q*m+k)*n:][:n])
				}
			}
			for g, variance := range c.estimated {
				if f := c.slope(params+g, i); f != 0 {
					c.addGroup(dst, v[k*n:(k+1)*n], g, f*variance)
				}
			}
		}
	}
	return out, nil
}

// addGroup adds f·v, divided by the weights, to dst at the points of a noise group.
func (c *curvature) addGroup(dst, v []float64, group int, f float64) {
	for j, x := range v {
		if of, factor := c.noisy.share(j); of == group {
			dst[j] += f * factor * x
		}
	}
}

// information returns ½ Σ_t QᵀPQ with Q = [Σ_i α_t], and the curvature HᵀΣ⁻¹H of coefficients of
// the mean that are elements of z.
func (c *curvature) information() ([]float64, error) {
	n := c.ws.N()
	h := make([]float64, c.p*c.p)
	for t := range c.targets {
		q, err := c.multiply(c.alpha[t*n:(t+1)*n], 1)
		if err != nil {
			return nil, err
		}
		c.moveTargets(q)
		c.moved = append(c.moved, q...)
		white := slices.Clone(q)
		if err := c.products.Whiten(c.ctx, white, c.p, false); err != nil {
			return nil, err
		}
		addGram(h, white, c.p, 0.5)
		if c.gls != nil {
			k := len(c.h) / n
			parts := make([]float64, k*c.p)
			for i := range c.p {
				for j := range k {
					parts[i*k+j] = floats.Dot(c.solvedH[j*n:(j+1)*n], q[i*n:(i+1)*n])
				}
			}
			c.gls.Whiten(parts)
			addGram(h, parts, c.p, -0.5)
		}
	}
	if basis := c.freeBasis; len(basis) > 0 {
		white, k := slices.Clone(basis), len(basis)/n
		if err := c.products.Whiten(c.ctx, white, k, false); err != nil {
			return nil, err
		}
		block := make([]float64, k*k)
		addGram(block, white, k, 1)
		for i := range k {
			for j := range k {
				h[(c.p-k+i)*c.p+c.p-k+j] += block[i*k+j]
			}
		}
	}
	return h, nil
}

// moveTargets adds the column −∂r/∂λ to the columns Σ_i α of the curvature: by λ, f has the
// second derivative (∂r/∂λ)ᵀP(∂r/∂λ) besides the part of the graph, and −αᵀΣ_iP(∂r/∂λ) by λ and z_i.
func (c *curvature) moveTargets(columns []float64) {
	if at := c.lambda(); at >= 0 {
		n := c.ws.N()
		floats.ScaleTo(columns[at*n:(at+1)*n], -1, c.objective.transform.slopes(c.z[at]))
	}
}

// lambda returns the index of λ in z, −1 without one.
func (c *curvature) lambda() int {
	if c.objective.transform == nil {
		return -1
	}
	return slices.Index(c.objective.Names(), transform.Parameter)
}

// addGram adds factor·XᵀX to h, p×p, for the p columns of X.
func addGram(h, x []float64, p int, factor float64) {
	rows := len(x) / p
	blas64.Syrk(blas.NoTrans, factor, blas64.General{Rows: p, Cols: rows, Stride: rows, Data: x}, 1, blas64.Symmetric{N: p, Stride: p, Data: h, Uplo: blas.Upper})
	for i := range p {
		for j := range i {
			h[i*p+j] = h[j*p+i]
		}
	}
}

// addCoefficients corrects twice the information of coefficients β of the mean to their Hessian
// HᵀΣ⁻¹H, and adds the mixed derivatives HᵀΣ⁻¹Σ_iα.
func (c *curvature) addCoefficients(h []float64) error {
	basis, n := c.freeBasis, c.ws.N()
	if len(basis) == 0 {
		return nil
	}
	k, solved := len(basis)/n, slices.Clone(basis)
	if err := c.ws.Solve(c.ctx, solved, k); err != nil {
		return err
	}
	for a := range k {
		row, own := c.p-k+a, solved[a*n:(a+1)*n]
		for b := range k {
			h[row*c.p+c.p-k+b] /= 2
		}
		for i := range c.p - k {
			mixed := floats.Dot(own, c.moved[i*n:(i+1)*n])
			h[row*c.p+i] += mixed
			h[i*c.p+row] += mixed
		}
	}
	return nil
}

// addNoise adds factor times the derivatives of ⟨G, Σ⟩ by the logarithms of noise variances, which
// are their second derivatives.
func (c *curvature) addNoise(h []float64, factor float64) {
	for g, sum := range c.solver.groupSums(len(c.estimated)) {
		total, k := factor*c.estimated[g]*sum, len(c.theta)+g
		for i := range c.p {
			for j := range c.p {
				h[i*c.p+j] += c.slope(k, i) * c.slope(k, j) * total
			}
		}
	}
}

// contractAt returns ⟨G, ∂K/∂log θ⟩ at log θ + step·shift, for the adjoint G of the present point.
func (c *curvature) contractAt(shift []float64, step float64) ([]float64, error) {
	if err := c.restore(); err != nil { // Σ at the point itself
		return nil, err
	}
	own := slices.Clone(c.theta)
	defer func() {
		copy(c.theta, own)
		copy(c.solver.grad, c.grad)
		copy(c.solver.diag, c.diag)
	}()
	for q, v := range shift {
		if c.prog.IsReal(q) {
			c.theta[q] += step * v
		} else {
			c.theta[q] *= math.Exp(step * v)
		}
	}
	clear(c.solver.grad)
	a := adjoint{inv: c.inv, outer: c.outer}
	if err := c.ws.Contract(c.solver.ctx, c.weights(a), c.prog, c.theta, c.solver.grad, c.solver.diag); err != nil {
		c.formed, c.solved = false, false
		return nil, err
	}
	c.formed = !device.Consumes(c.ws)
	if c.prog.Bilinear() {
		c.addOuter(-a.outer)
	}
	return slices.Clone(c.solver.grad), nil
}

// chain returns the gradient by z that the graph computes from derivatives by the logarithms of θ
// and from the adjoint's diagonal, with the priors' part, at z. It evaluates nothing on the workspace.
func (c *curvature) chain(z, grad, diag []float64) ([]float64, error) {
	s, o := c.solver, c.objective
	s.frozen = true
	defer func() { s.frozen = false }()
	copy(s.grad, grad)
	copy(s.diag, diag)
	out := make([]float64, c.p)
	_, err := o.ValueGradient(c.ctx, z, out)
	s.ctx = c.ctx // ValueGradient resets it
	return out, err
}

// differentiateChain sets the jacobian of parameters that are functions of others. The graph maps
// derivatives linearly, so it maps unit vectors to the rows.
func (c *curvature) differentiateChain() error {
	none, diag := make([]float64, len(c.theta)), make([]float64, len(c.diag))
	base, err := c.chain(c.z, none, diag)
	if err != nil {
		return err
	}
	for k := range c.logs() {
		grad, at := slices.Clone(none), 0
		if g := k - len(c.theta); g < 0 {
			grad[k] = 1
		} else {
			if c.noisy.Group != nil {
				at = slices.Index(c.noisy.Group, g)
			}
			_, factor := c.noisy.share(at)
			diag[at] = 1 / (factor * c.estimated[g])
		}
		row, err := c.chain(c.z, grad, diag)
		if err != nil {
			return err
		}
		diag[at] = 0
		floats.Sub(row, base)
		c.jacobian = append(c.jacobian, row...)
	}
	return nil
}

// chainStep is the step of differences of the graph's own derivatives, in log units.
const chainStep = 1e-4

// chainCurvature returns the second derivatives of the priors and of parameters that are functions
// of others, from central differences of the graph's derivatives with the same contraction.
func (c *curvature) chainCurvature() ([]float64, error) {
	h := make([]float64, c.p*c.p)
	if c.objective.prior == nil && c.jacobian == nil && c.lambda() < 0 {
		return h, nil
	}
	z := slices.Clone(c.z)
	for j := range z {
		var sides [2][]float64
		for k, step := range []float64{chainStep, -chainStep} {
			z[j] = c.z[j] + step
			side, err := c.chain(z, c.grad, c.diag)
			if err != nil {
				return nil, err
			}
			sides[k] = side
		}
		z[j] = c.z[j]
		for i := range z {
			d := (sides[0][i] - sides[1][i]) / (4 * chainStep) // half for each of the symmetric elements
			h[i*c.p+j] += d
			h[j*c.p+i] += d
		}
	}
	c.addNoise(h, -1) // the graph starts from derivatives by variances, not by their logarithms
	return h, nil
}
