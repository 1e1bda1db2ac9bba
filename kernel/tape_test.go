package kernel

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"gorgonia.org/gorgonia"
	"pgregory.net/rapid"

	"gpfit/internal/code"
	"gpfit/internal/must"
	"gpfit/internal/pair"
)

// tolTape bounds the difference between a compiled kernel and its graph on
// Gorgonia's machine, relative to the sum of the magnitudes of value and
// derivative.
const tolTape = 1e-13

// tape is a program's graph for Gorgonia's machine, and its operations.
type tape struct {
	prog  *Program
	f     *pair.Function
	nodes *pair.Expression
}

func newTape(t interface{ Fatal(...any) }, prog *Program) tape {
	f, err := prog.graph.Compile(prog.root, true, len(prog.Features), prog.NumParams)
	if err != nil {
		t.Fatal(prog.Text, err)
	}
	return tape{prog, f, prog.graph.Differentiated()}
}

// check compares the two at given features and parameters.
func (c tape) check(t interface {
	Fatal(...any)
	Errorf(string, ...any)
}, features, theta []float64) {
	pair.Building.Lock()
	defer pair.Building.Unlock()
	for _, n := range c.nodes.Inputs {
		x := 0.0
		if i, ok := c.nodes.Feature(n); ok {
			x = features[i]
		} else if i, ok := c.nodes.Parameter(n); ok {
			x = theta[i]
		}
		must.Do(t, gorgonia.Let(n, x))
	}
	vm := gorgonia.NewTapeMachine(c.nodes.Value.Graph())
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		t.Fatal(c.prog.Text, err)
	}
	number := func(n *Node) float64 {
		if n == nil {
			return 0
		}
		return n.Value().Data().(float64)
	}
	value := number(c.nodes.Value)
	compare := func(what string, want float64, id code.ID) {
		got := c.f.List.Evaluate(theta, features, id)[0]
		if !(math.Abs(got-want) <= tolTape*(math.Abs(value)+math.Abs(want))) {
			t.Errorf("%s at features %v, parameters %v: %s %v, by Gorgonia's machine %v", c.prog.Text, features, theta, what, got, want)
		}
	}
	compare("k", value, c.f.Value)
	for i, n := range c.nodes.ByFeature {
		compare("∂k/∂ "+c.prog.FeatureName(i, strconv.Itoa), number(n), c.f.ByFeature[i])
	}
	for i, n := range c.nodes.ByParameter {
		compare("∂k/∂ log "+c.prog.Names()[i], theta[i]*number(n), c.f.ByParameter[i])
	}
}

// randomFeatures draws one value of each feature with its sign, and inner products
// smaller than the norms.
func randomFeatures(rng *rand.Rand, p *Program) []float64 {
	out := make([]float64, len(p.Features))
	for i := range out {
		out[i] = rng.NormFloat64()
		if p.Features[i].Kind.sign().NotNegative() {
			out[i] *= out[i]
		}
		switch p.Features[i].Kind {
		case InnerProduct:
			out[i] = math.Tanh(out[i])
		case FirstNorm, SecondNorm:
			out[i]++
		}
	}
	return out
}

// TestAgainstTapeMachine checks that Gorgonia's own machine computes the same from
// the graph as the translated and simplified list of operations.
func TestAgainstTapeMachine(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	texts := []string{"rbf(ard) + matern32*periodic(dims=0) + linear", "(rbf + matern12(dims=1))*rq", "poly(5)*cosine + constant", "matern52*matern52(ard)*matern32"}
	for _, name := range Families() {
		texts = append(texts, name, name+"(ard)")
	}
	for _, text := range texts {
		c := newTape(t, mustCompile(t, text, 3))
		for range 5 {
			c.check(t, randomFeatures(rng, c.prog), randomTheta(rng, c.prog))
		}
		c.check(t, make([]float64, len(c.prog.Features)), randomTheta(rng, c.prog))
	}
}

// TestRandomAgainstTapeMachine does the same with random sums and products.
func TestRandomAgainstTapeMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5))
		c := newTape(t, compile(t, expressions(3, 2).Draw(t, "expr"), Columns(3)))
		c.check(t, randomFeatures(rng, c.prog), randomTheta(rng, c.prog))
	})
}
