package kernel_test

import (
	"fmt"

	"gpfit/kernel"
)

// A user-defined family defines only its value. gpfit differentiates it with
// respect to parameters and inputs.
func ExampleFamily() {
	sech := &kernel.Family{
		Name:       "sech",
		Parameters: []kernel.Parameter{{Name: "lengthscale", Kind: kernel.Lengthscale, Count: kernel.PerColumn}},
		Function: func(p *kernel.Pair) *kernel.Node {
			r := p.Distance("lengthscale")
			return p.Div(p.Number(2), p.Add(p.Exp(r), p.Exp(p.Neg(r))))
		},
	}
	expr, err := kernel.Parser{Families: []*kernel.Family{sech}}.Parse("sech(ard) + linear(dims=0)")
	if err != nil {
		fmt.Println(err)
		return
	}
	prog, err := kernel.Compile(expr, kernel.Columns(2))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(prog.Names())
	ev := kernel.NewEvaluator(prog)
	ev.Bind([]float64{1, 2, 0.5, 0.1})
	x := kernel.NewPoints([]float64{0, 0, 1, 0, 1, 2}, 3, 2)
	row := make([]float64, 3)
	ev.Row(row, x, 1, x, 0, 3)
	fmt.Printf("%.4f\n", row)
	// Output:
	// [k1.lengthscale[0] k1.lengthscale[1] k1.signal_variance k2.signal_variance]
	// [0.3240 0.6000 0.4240]
}

// A formula is a kernel without a family.
func ExampleParse_formula() {
	prog, err := kernel.CompileText("formula(exp(-r/a) * cos(2*pi*r/b), a=1, b=4)", 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	ev := kernel.NewEvaluator(prog)
	ev.Bind([]float64{2, 4, 1}) // a, b, signal_variance
	x := kernel.NewPoints([]float64{0, 1, 2}, 3, 1)
	row := make([]float64, 3)
	ev.Row(row, x, 0, x, 0, 3)
	fmt.Println(prog.Text)
	fmt.Printf("%.4f\n", row)
	_, err = kernel.Parse("rbf + formula(exp(-r/scale), scael=1)")
	fmt.Println(err)
	// Output:
	// formula(exp(-r/a)*cos(2*pi*r/b), a=1, b=4)
	// [1.0000 0.0000 -0.3679]
	// kernel: formula has no argument "scael" (did you mean "scale"?); its arguments are ard, dims, scale, lengthscale, signal_variance
	//   rbf + formula(exp(-r/scale), scael=1)
	//                                ^
}
