package figure

import (
	"cmp"
	"math"
	"slices"

	"gpfit/compare/shrinkage"
	"gpfit/show/plotting"
)

// named is the number of names in the legend.
const named = 12

// Path draws the standardized weights over λ, and the errors beside them. The axis of λ is logarithmic and has no
// place for 0. Only the columns with the largest weights are named if there are many.
func Path(r *shrinkage.Result) *plotting.Figure {
	x := slices.Clone(r.Lambdas)
	for i, lambda := range x {
		if lambda == 0 {
			x[i] = math.NaN()
		}
	}
	axis := plotting.Axis{Label: "penalty λ", Log: true}
	f := &plotting.Figure{
		Title: "Weights of " + r.Target + " by the penalty of " + string(r.Penalty),
		Charts: []plotting.Chart{
			{Title: "Weights", X: axis, Y: plotting.Axis{Label: "weight in standard deviations", Zero: true}},
			{Title: "Error", X: axis, Y: plotting.Axis{Label: "RMSE of " + r.Target}},
		},
	}
	for rank, c := range bySize(r) {
		name := r.Features[c]
		if rank >= named {
			name = ""
		}
		f.Charts[0].Layers = append(f.Charts[0].Layers, weight(r, name, x, c, rank)...)
	}
	training, validation := shrinkage.OrNaN(r.Training), shrinkage.OrNaN(r.Validation)
	f.Charts[1].Layers = append(f.Charts[1].Layers,
		&plotting.Line{Name: "training error", X: x, Y: training, Color: plotting.Grey, Dashed: true},
		&plotting.Line{Name: "validation error (" + r.Validated + ")", X: x, Y: validation, Color: plotting.Grey})
	if len(x) == 1 { // a line of one point cannot be seen
		f.Charts[1].Layers = append(f.Charts[1].Layers,
			&plotting.Points{X: x, Y: training, Color: plotting.Grey, Shape: plotting.Ring}, &plotting.Points{X: x, Y: validation, Color: plotting.Grey})
	}
	if r.Best != nil && r.Lambdas[*r.Best] > 0 {
		for i := range f.Charts {
			f.Charts[i].Layers = append(f.Charts[i].Layers, &plotting.Guide{Name: "lowest validation error", At: r.Lambdas[*r.Best], Vertical: true, Color: plotting.Grey, Dashed: true})
		}
	}
	return f
}

// weight draws the weight of a column, as points if there is one λ.
func weight(r *shrinkage.Result, name string, x []float64, c, rank int) []plotting.Layer {
	y := shrinkage.Along(r.Standardized, c)
	if len(x) == 1 {
		return []plotting.Layer{&plotting.Points{Name: name, X: x, Y: y, Color: rank % colors}}
	}
	return []plotting.Layer{&plotting.Line{Name: name, X: x, Y: y, Color: rank % colors, Dashed: rank%(2*colors) >= colors}}
}

// bySize returns the columns in the order of their largest weights.
func bySize(r *shrinkage.Result) []int {
	size := make([]float64, len(r.Features))
	order := make([]int, len(r.Features))
	for c := range size {
		order[c] = c
		for _, w := range r.Standardized {
			size[c] = max(size[c], math.Abs(w[c]))
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size[b], size[a]) })
	return order
}
