package gp

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
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
		p := condition(t, m)
		grad, err := p.MeanGradient(context.Background(), rows, points)
		if err != nil {
			t.Fatal(err)
		}
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

func TestMeanGradientCancelled(t *testing.T) {
	p := condition(t, newModel(t, 20))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.MeanGradient(ctx, newRows(5), 5); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want a cancelled context's", err)
	}
}
