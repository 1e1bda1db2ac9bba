package gp

import (
	"slices"
	"testing"

	"gpfit/internal/testcheck"
	"gpfit/internal/transform"
	"gpfit/kernel"
	"gpfit/mean"
	"gpfit/method/experts"
)

// Models and functions of these tests for the tests of package exchange, which this package cannot import.
var (
	ExampleModelForTest  = exampleModel
	ExportModelsForTest  = exchangeModels
	EncodedModelForTest  = encodedModel
	NoisyModelForTest    = noisyModel
	NewModelForTest      = newModel
	NewRowsForTest       = newRows
	WeighForTest         = weigh
	ConditionForTest     = condition
	AllKernelsForTest    = slices.Concat(exportKernels, compiledKernels)
	ExportKernelsForTest = exportKernels
	// ExportForTest exports a model of any file.
	ExportForTest func(m *Model)
)

// exampleModel returns a model of three features, one unused, with the given kernel
// at distinct parameters, and true weights.
func exampleModel(t testing.TB, text string, withMean bool) *Model {
	t.Helper()
	m := newModel(t, 40)
	m.Kernel, m.Kernels, m.Jitter = text, []*kernel.Family{tent}, 0.01
	if !withMean {
		m.Mean = Mean{}
	}
	prog := testcheck.Get(m.Program())(t)
	m.ParameterNames, m.Theta = prog.Names(), nil
	for i := range prog.NumParams {
		m.Theta = append(m.Theta, 0.8+0.15*float64(i))
	}
	weigh(t, m)
	return m
}

// weigh sets a model's weights to Σ⁻¹(y − m(X)).
func weigh(t testing.TB, m *Model) {
	t.Helper()
	p := testcheck.Get(m.Condition(t.Context(), backend))(t)
	defer p.Close()
	m.Alpha = m.Scaling.Targets(m.Y)
	for i, v := range m.Mean.at(m.Points()) {
		m.Alpha[i] -= v
	}
	testcheck.Do(t, p.Workspace().Solve(t.Context(), m.Alpha, 1))
}

// exportKernels contain every leaf and combinations of leaves.
var exportKernels = []string{
	"rbf", "rbf(ard)", "matern12", "matern32(ard)", "matern52(dims=2)",
	"rbf(ard) + matern32", "rbf*matern12(dims=0) + matern52(ard, dims=[2, 0])",
	"rbf(dims=0)*(matern32 + matern52(dims=2))*(rbf + matern12)",
	"rq", "rq(ard, dims=[2, 0])", "periodic", "periodic(ard)", "periodic(dims=2)*rbf", "linear", "linear(ard) + rbf", "linear(dims=0) + constant",
	"poly", "poly(3, ard)", "poly(2, offset=0)", "poly(3, ard, offset=0) + rbf", "constant + matern32*linear", "rq*(periodic + linear(ard) + constant)",
}

// compiledKernels contain leaves that are exported as operations.
var compiledKernels = []string{
	"matern(3.5)", "matern(0.5, ard) + wendland(1)", "wendland(2, ard, dims=[2, 0])*rbf", "wendland(0)", "arcsine", "arcsine(ard) + linear", "arcsine(offset=0) + rbf",
	"gibbs(dims=2)", "gibbs + rbf", "hamming*rbf", "hamming(ard) + matern32",
	"additive(matern52)", "additive(rq, ard, dims=[2, 0]) + additive(rbf, ard)*linear(ard)",
	"formula(exp(-r/a)*cos(2*pi*r/b), a=1, b=2, dims=0) + rbf", "formula(exp(-(r/a)^g), a=1, g=1)*periodic", "formula((1 + r2)^-b, b=1, ard)",
	"formula(sigmoid(5*(x - 0.3))*sigmoid(5*(y - 0.3)), dims=0)*rbf + formula(1)", "formula(tanh(xx)*tanh(yy) + log1p(xx)*log1p(yy) + exp(-mismatches))",
	"formula(pos(1 - r/a)^4*(1 + 4*r/a)/sqrt((1 + abs(x))*(1 + abs(y))), a=3, dims=2) + formula(sin(x)*sin(y)*asin(tanh(x)/2)*asin(tanh(y)/2), dims=0)*rbf", "formula(erf(x)*erf(y), dims=0) + formula(sinc(2*pi*r/a), a=3)*rbf", "tent(dims=0) + rbf",
}

// exchangeModels are exportModels and models with every transform of the target.
func exchangeModels(t testing.TB) map[string]*Model {
	out := exportModels(t)
	for _, kind := range transform.Names()[1:] {
		out["transform "+string(kind)], _ = transformedModel(t, kind, 40)
	}
	drawn := *out["transform boxcox"]
	drawn.Draws = &Draws{Method: "laplace", Theta: [][]float64{drawn.Theta, drawn.Theta}, Noise: [][]float64{{0.05}, {0.2}}, Lambda: []float64{0.4, 1.6}}
	out["draws"] = &drawn
	return out
}

// exportModels are models of every kind of mean and noise.
func exportModels(t testing.TB) map[string]*Model {
	universal := leastSquaresModel(t, 40)
	bumps := newModel(t, 40)
	bumps.Mean = Mean{Text: "poly(3, dims=0) + bumps(2, dims=2)", Coefficients: []float64{0.3, -0.2, 0.05, 0.4, -0.3, 0.1}, Basis: mean.Basis{
		{Group: mean.Linear, Index: 1}, {Group: mean.Power, Index: 2}, {Group: mean.Power, Index: 3},
		{Group: mean.Bump, Column: 1, Label: 2, Centre: -0.5, Width: 0.7}, {Group: mean.Bump, Column: 1, Label: 2, Index: 1, Centre: 0.6, Width: 0.7},
		{Group: mean.Constant},
	}}
	weigh(t, bumps)
	waves := newModel(t, 40)
	waves.Mean = Mean{Text: "seasonal(3, 1, dims=2)", Coefficients: []float64{0.3, -0.2, 0.05}, Basis: mean.Basis{
		{Group: mean.Cosine, Column: 1, Label: 2, Centre: -0.5, Width: 0.7, Period: 3}, {Group: mean.Sine, Column: 1, Label: 2, Centre: -0.5, Width: 0.7, Period: 3},
		{Group: mean.Constant},
	}}
	weigh(t, waves)
	known := newModel(t, 40)
	known.Noise.Column = "variance"
	for i := range known.N() {
		known.TrainNoise = append(known.TrainNoise, known.NoiseVariance+0.03*float64(i%3))
	}
	weigh(t, known)
	tails, _, _ := tailedModel(t, 40)
	out := map[string]*Model{"universal kriging": universal, "long tails": tails, "bumps": bumps, "waves": waves, "known noise": known, "outlying": outlyingModel(t, 40)}
	for _, rule := range experts.Rules() {
		local := leastSquaresModel(t, 40)
		inputs := local.Scaling.Inputs(local.X)
		part := experts.NewPartition(inputs, local.N(), len(local.Columns), experts.PartitionOptions{Clusters: 3, Combine: rule})
		part.Temperature = 1.7
		local.State = part.State()
		weigh(t, local)
		out["local experts, "+string(rule)] = local
	}
	return out
}
