package plotting

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// samples are figures of all kinds, for the tests of structure.
func samples() map[string]*Figure {
	small, dates, pages := forecast(), forecast(), forecast()
	small.Size = Size{Width: 8, Height: 6}
	dates.Charts[0].X.Date = func(x float64) time.Time { return time.Date(2024, 1, 1, int(2400*x), 0, 0, 0, time.UTC) }
	pages.Title = "A title that is far longer than the picture is wide, so that it takes two lines or even three of them above the axes"
	pages.Size = Size{Width: 9, Height: 8}
	return map[string]*Figure{
		"forecast": forecast(), "small": small, "dates": dates, "title": pages, "full": full(), "speed": speed(), "kernels": kernels(),
		"profile": profile(), "diverging": matrix(), "effects": effects(), "histogram": histogram(), "one": one(), "draws": draws(),
	}
}

func forecast() *Figure {
	var x, mean, lower, upper, dataX, dataY []float64
	for i := range 200 {
		at := float64(i) / 20
		y := math.Sin(at) + 0.1*at
		x, mean = append(x, at), append(mean, y)
		lower, upper = append(lower, y-0.1-0.05*at), append(upper, y+0.1+0.05*at)
		if i%3 == 0 && at < 7 {
			dataX, dataY = append(dataX, at), append(dataY, y+0.05*math.Cos(7*at))
		}
	}
	return &Figure{Title: "Forecast", Charts: []Chart{{
		X: Axis{Label: "year"}, Y: Axis{Label: "CO₂, ppm"},
		Layers: []Layer{
			&Band{Name: "95 % interval", X: x, Lower: lower, Upper: upper},
			&Points{Name: "data", X: dataX, Y: dataY, Color: 1},
			&Line{Name: "mean", X: x, Y: mean},
		},
	}}}
}

// full leaves no corner free.
func full() *Figure {
	rng := rand.New(rand.NewPCG(1, 2))
	var x, y []float64
	for range 2000 {
		x, y = append(x, rng.NormFloat64()*3000), append(y, rng.Float64())
	}
	return &Figure{Title: "Points everywhere", Charts: []Chart{{
		X: Axis{Label: "x"}, Y: Axis{Label: "y"},
		Layers: []Layer{&Points{Name: "data, a cloud of points", X: x, Y: y}, &Guide{Name: "half", At: 0.5, Color: Grey, Dashed: true}, &Line{Name: "σ²", X: []float64{-9000, 9000}, Y: []float64{0.2, 0.8}, Color: 1}},
	}}}
}

func speed() *Figure {
	n := []float64{100, 1000, 4000}
	return &Figure{Title: "Speed", Charts: []Chart{{
		X: Axis{Label: "rows n", Log: true, Ticks: n}, Y: Axis{Label: "seconds", Log: true},
		Layers: []Layer{
			&Line{Name: "measured", X: n, Y: []float64{1e-4, 0.1, 7}}, &Points{X: n, Y: []float64{1e-4, 0.1, 7}},
			&Line{Name: "limit", X: n, Y: []float64{4e-5, 0.03, 2.6}, Color: 1, Dashed: true, Thin: true},
		},
	}}}
}

func kernels() *Figure {
	c := Chart{X: Axis{Label: "RMSE"}, Y: Axis{Reversed: true}}
	for i, name := range []string{"rbf(ard)", "matern52(ard) + periodic(ard) * linear", "rq"} {
		c.Y.Categories = append(c.Y.Categories, name)
		v, row := 0.1*float64(i+1), float64(i)
		c.Layers = append(c.Layers, &Points{X: []float64{v, v + 0.01, v + 0.05}, Y: []float64{row, row, row}, Color: i, Shape: Ring}, &Points{X: []float64{v + 0.02}, Y: []float64{row}, Color: i, Shape: Upright})
	}
	return &Figure{Title: "Kernels", Size: Size{Width: 14, Height: 5}, Charts: []Chart{c}}
}

// profile is a contour over logarithmic axes with marked optima.
func profile() *Figure {
	h := &Heat{Label: "NLML", Levels: []float64{1, 2, 4, 8, 16}}
	for i := range 40 {
		h.X, h.Y = append(h.X, math.Pow(10, -2+float64(i)/10)), append(h.Y, math.Pow(10, -3+float64(i)/13))
	}
	for _, y := range h.Y {
		var row []float64
		for _, x := range h.X {
			a, b := math.Log(x), math.Log(y)+3
			row = append(row, min(a*a+b*b, 1+(a-2)*(a-2)+(b-2)*(b-2)))
		}
		h.Z = append(h.Z, row)
	}
	h.Z[0][0] = math.NaN()
	optima := &Points{Name: "optimum", X: []float64{1, math.Exp(2)}, Y: []float64{math.Exp(-3), math.Exp(-1)}, Color: 1, Shape: Cross, Radius: 5, Labels: []string{"1st", "2nd"}}
	return &Figure{Title: "Likelihood", Charts: []Chart{{X: Axis{Label: "lengthscale", Log: true}, Y: Axis{Label: "noise_variance", Log: true}, Layers: []Layer{h, optima}}}}
}

func matrix() *Figure {
	h := &Heat{Label: "k(x, x′)", Diverging: true}
	for i := range 60 {
		h.X, h.Y = append(h.X, float64(i)/10-3), append(h.Y, float64(i)/10-3)
	}
	for _, y := range h.Y {
		var row []float64
		for _, x := range h.X {
			row = append(row, x*y)
		}
		h.Z = append(h.Z, row)
	}
	f := &Figure{Title: "linear", Size: Size{Width: 22, Height: 9}}
	slices := Chart{Title: "slices", X: Axis{Label: "x"}, Y: Axis{Label: "k(x, x′)"}}
	for i, row := range []int{0, 30, 50} {
		slices.Layers = append(slices.Layers, &Line{Name: fmt.Sprintf("x′ = %.3g", h.Y[row]), X: h.X, Y: h.Z[row], Color: i})
	}
	f.Charts = []Chart{{Title: "k(x, x′)", X: Axis{Label: "x"}, Y: Axis{Label: "x′", Reversed: true}, Layers: []Layer{h}}, slices}
	return f
}

func effects() *Figure {
	f := &Figure{Title: "Effects", SharedY: true}
	for i := range 4 {
		c := forecast().Charts[0]
		c.X.Label, c.Title = fmt.Sprintf("column %d", i), "a title"
		f.Charts = append(f.Charts, c)
	}
	f.Charts = append(f.Charts, Chart{
		X: Axis{Label: "city", Categories: []string{"Amsterdam", "Berlin", "København", "Llanfairpwllgwyngyllgogerychwyrndrobwll", "Oslo"}}, Y: Axis{Label: "CO₂, ppm"},
		Layers: []Layer{
			&Errors{Name: "95 % interval", X: []float64{0, 1, 2, 3, 4}, Lower: []float64{1, 2, 1, 2, 1}, Upper: []float64{2, 3, 3, 3, 2}},
			&Points{Name: "mean", X: []float64{0, 1, 2, 3, 4}, Y: []float64{1.5, 2.5, 2, 2.5, 1.5}},
		},
	})
	return f
}

func histogram() *Figure {
	rng := rand.New(rand.NewPCG(1, 2))
	var values []float64
	for range 500 {
		values = append(values, rng.NormFloat64())
	}
	bars := Histogram(values)
	relevance := &Bars{At: []float64{0, 1, 2}, Height: []float64{0.9, 0.3, 0.05}, Width: 0.7, Color: 2}
	return &Figure{Title: "Residuals", Charts: []Chart{
		{X: Axis{Label: "standardized residual"}, Y: Axis{Label: "rows"}, Layers: []Layer{bars, &Guide{At: 0, Vertical: true, Color: Grey}}},
		{X: Axis{Categories: []string{"income", "age of house", "<script>"}}, Y: Axis{Label: "relevance"}, Layers: []Layer{relevance}},
	}}
}

// one has axes without a range.
func one() *Figure {
	return &Figure{Charts: []Chart{{X: Axis{Log: true}, Layers: []Layer{&Points{Name: "s", X: []float64{300}, Y: []float64{-2e7}}}}}}
}

func draws() *Figure {
	c := Chart{X: Axis{Label: "x"}, Y: Axis{Label: "f"}}
	for k := range 12 {
		l := &Line{Thin: true, Color: k}
		for i := range 100 {
			x := float64(i) / 10
			l.X, l.Y = append(l.X, x), append(l.Y, 1e-5*math.Sin(x+float64(k)))
		}
		if k == 0 {
			l.Name = "draws"
			l.Y[50] = math.NaN()
		}
		c.Layers = append(c.Layers, l)
	}
	return &Figure{Title: "Draws", Charts: []Chart{c}}
}
