package gp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/internal/matrixrows"
	"gpfit/kernel"
)

// Checked says what [Check] compared.
type Checked struct {
	FileInfo
	// N counts the training rows. Equations counts the rows i of which Check computed
	// (Σα)ᵢ − rᵢ, for each target: all if there are no more than about 14,000.
	N, Equations int
	// FactorRows counts the rows of the factor L: of each, Check compared (LLᵀ)ᵢᵢ, and in a few
	// columns (LLᵀ)ᵢⱼ. It is 0 if the file has no factor.
	FactorRows int
	// Sealed says that the texts and the numbers of rows were compared, too. A file of an older gpfit has nothing to compare them with.
	Sealed bool
}

const (
	// checkedPairs bounds the elements of Σ that the residual takes: one or two seconds.
	checkedPairs = 200_000_000
	// fewestRows are checked in any case.
	fewestRows = 32
	// factorColumns is the number of columns of LLᵀ that are compared with Σ.
	factorColumns = 4
	// A residual of slack·ε times the size of the sums behind it counts as rounding. The largest
	// observed is 0.4 for weights, and 1 for factors of n rows, times √n.
	slack = 64
	ulp   = 0x1p-52
)

// Check reads a model file as [Load] does, every byte once, and compares its contents with one
// another: α with the training data, parameters, mean and noise, and the factor, if the file has
// one, with the covariance of the training rows. Rows are scaled as for a prediction. Where a model has the state of a
// method, divide returns the blocks of rows outside of which that method takes the covariance for 0. Check needs
// the memory of [Load] and a few hundred rows of the factor. Errors are [*FileError], and ctx's.
func Check(ctx context.Context, path string, divide func(device.State, *kernel.Points) ([][]int, error), kernels ...*kernel.Family) (*Checked, error) {
	out := &Checked{}
	m, info, err := inspect(path, kernels, func(m *Model, rows io.Reader) error {
		if m.State.Method != "" {
			return fmt.Errorf("a model of the method %s has no factor", m.State.Method)
		}
		out.FactorRows = m.N()
		c := &checker{path: path, model: m}
		if err := c.prepare(); err != nil {
			return err
		}
		return c.factor(ctx, rows)
	})
	if err != nil {
		return nil, err
	}
	out.FileInfo, out.N = *info, m.N()
	c := &checker{path: path, model: m}
	if err := c.prepare(); err != nil {
		return nil, err
	}
	if err := c.trainNoise(); err != nil {
		return nil, err
	}
	blocks := [][]int{matrixrows.All(m.N())}
	if m.State.Method != "" {
		if blocks, err = divide(m.State, c.x); err != nil {
			return nil, &FileError{Path: path, Msg: "the model's parts do not fit together", Err: err}
		}
	}
	for _, rows := range blocks {
		// Each block takes its share of the pairs, by its number of rows.
		at := spread(len(rows), max(checkedPairs/m.N(), fewestRows))
		out.Equations += len(at)
		if err := c.weights(ctx, rows, at); err != nil {
			return nil, err
		}
	}
	if out.Sealed = info.seal != ""; !out.Sealed {
		return out, nil
	}
	return out, c.checkSeal(info)
}

// CheckWeights compares Σα with the targets, less the mean function, in some of the training rows, as [Check] does. The
// error, a [*FileError] without a path, says where they differ by more than rounding. A model of local experts has
// weights of each, and is not checked.
func (m *Model) CheckWeights(ctx context.Context) error {
	if m.State.Method != "" {
		return nil
	}
	c := &checker{model: m}
	if err := c.prepare(); err != nil {
		return err
	}
	return c.weights(ctx, matrixrows.All(m.N()), spread(m.N(), max(checkedPairs/m.N(), fewestRows)))
}

// spread returns count numbers from 0 to n−1, ascending, with the first and the last.
func spread(n, count int) []int {
	if count >= n {
		count = n
	}
	out := make([]int, count)
	for k := range out {
		out[k] = k * (n - 1) / max(count-1, 1)
	}
	return out
}

// checker compares the parts of a model from a file.
type checker struct {
	path  string
	model *Model
	covariance
	x *kernel.Points
	// noise is one number if all rows have the same; diagonal is the diagonal of Σ.
	noise, diagonal []float64
}

// prepare computes what the checks of a model share.
func (c *checker) prepare() (err error) {
	if c.covariance, err = c.model.covariance(); err != nil {
		return err
	}
	c.x, c.noise = c.model.Points(), c.model.NoiseDiagonal()
	c.diagonal = c.covariance.diagonal(c.x)
	for i := range c.diagonal {
		c.diagonal[i] += c.noise[i%len(c.noise)]
	}
	return nil
}

// wrong returns an error about the file.
func (c *checker) wrong(format string, args ...any) error {
	return &FileError{Path: c.path, Msg: fmt.Sprintf(format, args...)}
}

// cause says why the weights of a file may be wrong, and what to do; empty for a model that was not read from one.
func (c *checker) cause() string {
	if c.path == "" {
		return ""
	}
	if e, err := c.model.Expression(); err == nil && kernel.Unproved(e) {
		return ". The file was changed after the fit, or the formula of the kernel is no covariance function there, so that no weights solve this well ('gpfit kernel check' looks for it): fit with another formula, or with bounds on its parameters"
	}
	return ". The data, the parameters, the noise or the weights were changed after the fit: take another copy of the file, or fit again"
}

// weights compares Σα with the targets, less the mean function, in the rows of a block at the positions at.
func (c *checker) weights(ctx context.Context, rows, at []int) error {
	m, targets := c.model, c.model.targets()
	size := make([]float64, len(targets)) // Σⱼ √Σⱼⱼ |αⱼ|
	wanted, means, alpha := make([][]float64, len(targets)), make([][]float64, len(targets)), make([][]float64, len(targets))
	for t, one := range targets {
		alpha[t] = matrixrows.Rows(one.Alpha, rows, m.N(), 1)
		for k, v := range alpha[t] {
			size[t] += math.Sqrt(c.diagonal[rows[k]]) * math.Abs(v)
		}
		wanted[t], means[t] = one.Residuals(), one.Mean.size(c.x)
	}
	own := 0.0
	if a := m.Approximation; a != nil { // no element of Σ is off by more
		own = mostMissed * a.Element
	}
	var mutex sync.Mutex
	worst, wrong, x, n := 0.0, error(nil), c.x.Pick(rows), len(rows)
	err := c.eachRow(ctx, 0, len(at), func(e *kernel.Evaluator, piece []float64, k int) {
		i, row, sums := at[k], rows[at[k]], make([]float64, len(targets))
		for j0 := 0; j0 < n; j0 += len(piece) {
			j1 := min(j0+len(piece), n)
			e.Row(piece, x, i, x, j0, j1)
			for t := range targets {
				sums[t] += floats.Dot(piece[:j1-j0], alpha[t][j0:j1])
			}
		}
		for t, one := range targets {
			off := math.Abs(sums[t] + c.noise[row%len(c.noise)]*one.Alpha[row] - wanted[t][row])
			rounding := slack*ulp*(math.Sqrt(c.diagonal[row])*size[t]+math.Abs(wanted[t][row])+means[t][row]+math.Abs(m.Scaling.YMean/one.Scaling.YScale)) + own*math.Sqrt(c.diagonal[row])*size[t]
			mutex.Lock()
			if share := off / rounding; !(share <= max(worst, 1)) {
				worst = share
				of := ""
				if len(targets) > 1 {
					of = " of target " + one.TargetName
				}
				wrong = c.wrong("the weights alpha do not solve (K + σ²I)·α = y − m in training row %d%s: they are off by %.2g in scaled units, and rounding explains %.2g%s", row+1, of, off, rounding, c.cause())
			}
			mutex.Unlock()
		}
	})
	return errors.Join(err, wrong)
}

// trainNoise compares the noise variance of each training row with the estimated variances, by which predictions
// go. A row without a known variance, a weight or a variance of its own has one of them, other rows as much or more,
// except that weights may make it less.
func (c *checker) trainNoise() error {
	m := c.model
	if m.TrainNoise == nil || m.Noise.WeightColumn != "" {
		return nil
	}
	estimated := m.Noise.Variances
	if m.Noise.Labels == nil {
		estimated = []float64{m.NoiseVariance}
	}
	least := slices.Min(estimated)
	const rounding = 1e-12
	for i, v := range m.TrainNoise {
		one := slices.ContainsFunc(estimated, func(e float64) bool { return math.Abs(v-e) <= rounding*v })
		atLeast := m.Noise.Column != "" || slices.Contains(m.Noise.Outlying, i)
		if !one && !(atLeast && v >= least*(1-rounding)) {
			return c.wrong("the noise variance of training row %d, %.6g in scaled units, is none of those of the model: the noise was changed after the fit: take another copy of the file, or fit again", i+1, v)
		}
	}
	return nil
}

// factor compares LLᵀ with Σ while it reads L row by row: in the diagonal, and in a few columns.
func (c *checker) factor(ctx context.Context, rows io.Reader) error {
	n, e := c.x.N, c.evaluator()
	columns := spread(n, factorColumns)
	kept, known := make([][]float64, len(columns)), make([][]float64, len(columns))
	for k, j := range columns {
		known[k] = make([]float64, n)
		e.Row(known[k], c.x, j, c.x, 0, n)
		known[k][j] += c.noise[j%len(c.noise)]
	}
	return eachFactorBlock(c.path, rows, n, func(block []float64, r0, r1 int) error {
		for i := r0; i < r1; i++ {
			row := block[(i-r0)*n : (i-r0)*n+i+1]
			if err := c.compare(i, i, floats.Dot(row, row), c.diagonal[i]); err != nil {
				return err
			}
			for k, j := range columns {
				if j == i {
					kept[k] = slices.Clone(row)
				}
				if j < i {
					if err := c.compare(i, j, floats.Dot(row[:j+1], kept[k]), known[k][i]); err != nil {
						return err
					}
				}
			}
		}
		return ctx.Err()
	})
}

// compare returns an error if an element of LLᵀ is not the element of Σ up to rounding.
func (c *checker) compare(i, j int, got, want float64) error {
	rounding := slack * ulp * math.Sqrt(float64(c.x.N)) * math.Sqrt(c.diagonal[i]*c.diagonal[j])
	if off := math.Abs(got - want); !(off <= rounding) {
		return c.wrong("row %d of the factor L does not belong to the model: element %d, %d of LLᵀ differs by %.2g from the covariance of these rows, and rounding explains %.2g. "+
			"The data, the parameters, the noise or the factor were changed after the fit: take another copy of the file, or fit again", i+1, i+1, j+1, off, rounding)
	}
	return nil
}
