package gp

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gpfit/internal/must"
	"gpfit/kernel"
)

// TestMeanGradient compares with central differences of predicted means, in
// original units, for every kernel and kind of mean.
func TestMeanGradient(t *testing.T) {
	models := exportModels(t)
	for i, text := range append([]string{"cosine(dims=0)*rbf + rbf", "cosine(ard)*matern52"}, exportKernels...) {
		models[text] = exampleModel(t, text, i%2 == 1)
	}
	const points = 7
	rows := newRows(points)
	for what, m := range models {
		if m.Experts != nil {
			continue // these have no derivatives
		}
		p := condition(t, m)
		grad := must.Get(p.MeanGradient(context.Background(), rows, points))(t)
		for c := range 3 {
			if c == 1 { // the unused feature
				for i := range points {
					if grad[3*i+c] != 0 {
						t.Errorf("%s: derivative %v by the unused feature", what, grad[3*i+c])
					}
				}
				continue
			}
			scale := m.Scaling.XScale[c/2]
			step := 1e-4 * scale
			at := func(steps float64) []float64 {
				moved := slices.Clone(rows)
				for i := range points {
					moved[3*i+c] += steps * step
				}
				return predict(t, m, moved).Mean
			}
			up, up2, down, down2 := at(1), at(2), at(-1), at(-2)
			for i := range points {
				// Four points: periodic kernels have large third derivatives.
				want := (8*(up[i]-down[i]) - (up2[i] - down2[i])) / (12 * step)
				// Means near 100 have noise of 1e-13, over a step of 1e-4.
				if math.Abs(grad[3*i+c]-want) > 1e-6*(m.Scaling.YScale/scale+math.Abs(want)) {
					t.Errorf("%s: row %d, feature %d: derivative %v, central difference %v", what, i, c, grad[3*i+c], want)
				}
			}
		}
	}
}

// TestGradientStd compares with the variance of a difference of the function's values
// at two rows, which comes from the joint covariance.
func TestGradientStd(t *testing.T) {
	models := exportModels(t)
	for i, text := range []string{"cosine(dims=0)*rbf + rbf", "matern32*linear + periodic", "rq + poly(2)"} {
		models[text] = exampleModel(t, text, i%2 == 1)
	}
	ctx := context.Background()
	for what, m := range models {
		if m.Experts != nil {
			continue // these have no derivatives
		}
		p := condition(t, m)
		row := newRows(1)
		got, err := p.GradientStd(ctx, row, 1)
		if strings.Contains(m.Kernel, "matern12") {
			if !errors.As(err, new(*kernel.CompileError)) {
				t.Errorf("%s: error %v, want a CompileError", what, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for c := range 3 {
			if c == 1 { // the unused feature
				if got[c] != 0 {
					t.Errorf("%s: deviation %v of the derivative by the unused feature", what, got[c])
				}
				continue
			}
			// The error is the square root of 1e-14 over a step of 2e-3, plus a
			// truncation error of step², or of step for kernels of finite
			// smoothness.
			step := 1e-3 * m.Scaling.XScale[c/2]
			pair := slices.Concat(row, row)
			pair[c] -= step
			pair[3+c] += step
			j := must.Get(p.Joint(ctx, pair, 2, JointOptions{}))(t)
			want := math.Sqrt(max(j.Cov[0]-2*j.Cov[1]+j.Cov[3], 0)) / (2 * step)
			if unit := m.Scaling.YScale / m.Scaling.XScale[c/2]; math.Abs(got[c]-want) > 3e-3*want+1e-4*unit {
				t.Errorf("%s, feature %d: deviation of the derivative %v, from a difference %v", what, c, got[c], want)
			}
		}
	}
}

func TestMeanGradientCancelled(t *testing.T) {
	p := condition(t, newModel(t, 20))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.MeanGradient(ctx, newRows(5), 5); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want a cancelled context's", err)
	}
}
