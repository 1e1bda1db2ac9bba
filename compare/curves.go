package compare

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gpfit/fit/problem"
	"gpfit/gp"
)

// Curves are fits over the only input: to the training rows of a hold-out, or to all rows.
type Curves struct {
	// X holds the inputs of the curves, ascending, in original units.
	X      []float64
	Curves []Curve
	// TrainX and TrainY are the training rows, TestX and TestY the held-out rows.
	TrainX, TrainY, TestX, TestY []float64
}

// Curve is the fit of one method. Lower and Upper bound the 95 % interval of new targets;
// they are nil without a density, and if the rows differ in their known noise.
type Curve struct {
	Method             string
	Mean, Lower, Upper []float64
}

// curvePoints is the number of points of a curve.
const curvePoints = 400

// last fits the methods that have a score once more, to the training rows of a hold-out or to all rows: for the
// curves along the input, and to hand over the models.
func (r *runner) last(ctx context.Context) (*Curves, error) {
	data := r.data
	data.Test, data.Warnings = make([]bool, data.N), nil
	if r.split.Folds == 0 {
		for _, i := range r.folds[0].test {
			data.Test[i] = true
		}
	}
	var c *Curves
	if r.opts.Curves {
		c = &Curves{X: along(data.X)}
		for i, x := range data.X {
			if data.Test[i] {
				c.TestX, c.TestY = append(c.TestX, x), append(c.TestY, data.Y[i])
			} else {
				c.TrainX, c.TrainY = append(c.TrainX, x), append(c.TrainY, data.Y[i])
			}
		}
	}
	scaled, err := data.Scaled(r.tuning.Standardize)
	if err != nil {
		return nil, err
	}
	for _, e := range r.entrants {
		err := r.lastOf(ctx, e, data, scaled, c)
		if ctx.Err() != nil {
			return c, ctx.Err()
		}
		r.finished++
		if err != nil && r.opts.OnModel != nil {
			r.warnings = append(r.warnings, fmt.Sprintf("%s has no model: %v", e.name, err))
		}
	}
	return c, nil
}

// lastOf fits a method, adds its curve to c unless that is nil, and hands over its model.
func (r *runner) lastOf(ctx context.Context, e entrant, data problem.Data, scaled *problem.ScaledRows, c *Curves) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	model, err := e.fit(ctx, data, scaled)
	if err != nil {
		return err
	}
	defer model.close()
	if c != nil {
		curve, err := r.curve(ctx, e.name, model, data, c.X)
		if err != nil {
			return err
		}
		c.Curves = append(c.Curves, curve)
	}
	if r.opts.OnModel == nil {
		return nil
	}
	kept, err := model.keep()
	if err != nil {
		return err
	}
	kept.Method, kept.Kernel = e.name, e.kernel
	return r.opts.OnModel(kept)
}

// curve predicts at x.
func (r *runner) curve(ctx context.Context, name string, model *fitted, data problem.Data, x []float64) (Curve, error) {
	noise, known := gp.RowNoise{}, data.NoiseVariance != nil || data.NoiseGroup != nil
	if data.NoiseVariance != nil {
		noise.Known = make([]float64, len(x))
	}
	if data.NoiseGroup != nil {
		noise.Group = slices.Repeat(data.NoiseGroup[:1], len(x))
	}
	p, err := model.predict(ctx, x, len(x), noise)
	if err != nil {
		return Curve{}, err
	}
	out := Curve{Method: name, Mean: p.Mean}
	if !known {
		out.Lower, out.Upper = p.Lower95, p.Upper95
	}
	return out, nil
}

// along returns inputs at even distances over the range of x, with 3 % more on both sides.
func along(x []float64) []float64 {
	lo, hi := slices.Min(x), slices.Max(x)
	room := math.Max(hi-lo, 1e-9) * 0.03
	out := make([]float64, curvePoints)
	for i := range out {
		out[i] = lo - room + (hi-lo+2*room)*float64(i)/(curvePoints-1)
	}
	return out
}
