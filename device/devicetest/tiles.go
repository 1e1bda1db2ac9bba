package devicetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/device"
	"gpfit/device/tiling"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// tileSuite is a device under test.
type tileSuite struct{ dev tiling.Device }

// tileOrders have one panel, several, and more columns than a part of a sum.
var tileOrders = []int{8, 64, 200, 304}

// tileTolerance is for products and solutions, relative to the largest number.
const tileTolerance = 1e-12

// testedTiles is a bank under test. Its calls end the test at an error. They use the first lane.
type testedTiles struct {
	tiling.Bank
	t     testing.TB
	order int
	rng   *rand.Rand
}

// bank returns a bank for points.
func (s tileSuite) bank(t testing.TB, x *kernel.Points, order, slots int) testedTiles {
	t.Helper()
	b := testcheck.Get(s.dev.NewTileBank(context.Background(), x, order, slots, nil))(t)
	t.Cleanup(func() { testcheck.Do(t, b.Close(), b.Close()) })
	return testedTiles{b, t, order, rand.New(rand.NewPCG(31, uint64(order)))}
}

// arithmetic returns a bank for a few points.
func (s tileSuite) arithmetic(t testing.TB, order, slots int) testedTiles {
	t.Helper()
	return s.bank(t, randomPoints(rand.New(rand.NewPCG(30, 1)), 3, 2), order, slots)
}

// eachOrder runs a test for each order.
func eachOrder(t *testing.T, test func(t *testing.T, order int)) {
	for _, order := range tileOrders {
		t.Run(fmt.Sprint(order), func(t *testing.T) { test(t, order) })
	}
}

// random returns a matrix of the size of a tile.
func (b testedTiles) random() *mat.Dense {
	return mat.NewDense(b.order, b.order, normals(b.rng, b.order*b.order))
}

// definite returns a positive definite matrix of a condition near 10.
func (b testedTiles) definite() *mat.Dense {
	r, m := b.random(), new(mat.Dense)
	m.Mul(r, r.T())
	m.Scale(2/float64(b.order), m)
	for i := range b.order {
		m.Set(i, i, m.At(i, i)+1)
	}
	return m
}

// factorOf returns the factor of a positive definite matrix.
func (b testedTiles) factorOf(m *mat.Dense) *mat.Dense {
	var chol mat.Cholesky
	if !chol.Factorize(mat.NewSymDense(b.order, slices.Clone(m.RawMatrix().Data))) {
		b.t.Fatal("not positive definite")
	}
	return mat.DenseCopyOf(chol.RawU().T())
}

func (b testedTiles) write(slot int, m *mat.Dense) {
	b.t.Helper()
	testcheck.Do(b.t, b.Write(0, slot, b.order, m.RawMatrix().Data, b.order))
}

func (b testedTiles) read(slot int) *mat.Dense {
	b.t.Helper()
	m := mat.NewDense(b.order, b.order, nil)
	testcheck.Do(b.t, b.Read(0, slot, b.order, m.RawMatrix().Data, b.order))
	return m
}

// elements is a set of elements of a tile.
type elements func(i, j int) bool

func whole(int, int) bool         { return true }
func lower(i, j int) bool         { return i >= j }
func upper(i, j int) bool         { return i <= j }
func below(i, j int) bool         { return i > j }
func above(i, j int) bool         { return i < j }
func firstRows(rows int) elements { return func(i, _ int) bool { return i < rows } }

// with returns a copy of m with v in some elements.
func with(m *mat.Dense, v float64, p elements) *mat.Dense {
	out := mat.DenseCopyOf(m)
	out.Apply(func(i, j int, x float64) float64 {
		if p(i, j) {
			return v
		}
		return x
	}, out)
	return out
}

// compareTiles compares some elements of two matrices.
func compareTiles(t testing.TB, what string, got, want *mat.Dense, p elements, tol float64) {
	t.Helper()
	scale, rows := 1.0, want.RawMatrix().Rows
	for i := range rows {
		for j, v := range want.RawRowView(i) {
			if p(i, j) {
				scale = max(scale, math.Abs(v))
			}
		}
	}
	for i := range rows {
		g := got.RawRowView(i)
		for j, v := range want.RawRowView(i) {
			if p(i, j) && !(math.Abs(g[j]-v) <= tol*scale) {
				t.Errorf("%s: element (%d, %d) is %v, want %v", what, i, j, g[j], v)
				return
			}
		}
	}
}

// testTileStorage copies tiles in all ways.
func testTileStorage(t *testing.T, s tileSuite) {
	eachOrder(t, func(t *testing.T, order int) {
		b, other := s.arithmetic(t, order, 3), s.arithmetic(t, order, 2)
		m := b.random()
		b.write(0, m)
		compareTiles(t, "written", b.read(0), m, whole, 0)
		bytes, _ := s.dev.TileSpace(3, 2, order)
		host := make([]float64, bytes/8)
		testcheck.Do(t, b.Store(0, 0, host), b.Wait(0), b.Load(0, 2, host), b.Wait(0))
		compareTiles(t, "stored and loaded", b.read(2), m, whole, 0)
		testcheck.Do(t, b.Copy(0, 1, b.Bank, 2), b.Wait(0), other.Copy(0, 1, b.Bank, 1), other.Wait(0))
		compareTiles(t, "copied", b.read(1), m, whole, 0)
		compareTiles(t, "copied from another bank", other.read(1), m, whole, 0)
		// Some rows, which are further apart than a tile is wide.
		rows, ld := order-3, order+5
		more, got := normals(b.rng, rows*ld), make([]float64, rows*ld)
		testcheck.Do(t, b.Write(0, 1, rows, more, ld), b.Read(0, 1, rows, got, ld))
		compare(t, "rows", strided(got, order, ld), strided(more, order, ld), 0)
		compareTiles(t, "other rows", b.read(1), m, func(i, _ int) bool { return i >= rows }, 0)
		for i := order; i < len(got); i += ld {
			if slices.ContainsFunc(got[i:i+ld-order], func(v float64) bool { return v != 0 }) {
				t.Errorf("numbers after row %d are overwritten", i/ld)
			}
		}
	})
}

// strided returns the first n of every ld numbers.
func strided(v []float64, n, ld int) (out []float64) {
	for row := range slices.Chunk(v, ld) {
		out = append(out, row[:n]...)
	}
	return out
}

// testTileMemory gives memory to a bank. A host's has the tiles of its slots there, one after the other.
func testTileMemory(t *testing.T, s tileSuite) {
	const order, slots = 64, 3
	x := randomPoints(rand.New(rand.NewPCG(30, 1)), 3, 2)
	bytes, rest := s.dev.TileSpace(3, 2, order)
	if bytes < 8*order*order || bytes%8 != 0 || rest < 0 {
		t.Errorf("%d bytes of a tile, %d others", bytes, rest)
	}
	size := int(bytes / 8)
	memory := make([]float64, slots*size+8)
	b := testedTiles{testcheck.Get(s.dev.NewTileBank(t.Context(), x, order, slots, memory))(t), t, order, rand.New(rand.NewPCG(31, 2))}
	m, host := b.random(), make([]float64, size)
	b.write(1, m)
	if s.dev.Info().Host {
		testcheck.Do(t, b.Store(0, 1, host), b.Wait(0))
		compare(t, "memory of a slot", memory[size:2*size], host, 0)
	} else {
		testcheck.Do(t, b.Store(0, 1, memory[size:2*size]), b.Wait(0), b.Load(0, 2, memory[size:2*size]), b.Wait(0))
		compareTiles(t, "from the memory", b.read(2), m, whole, 0)
	}
	testcheck.Do(t, b.Close())
}

// testTileErrors checks arguments of wrong sizes and values.
func testTileErrors(t *testing.T, s tileSuite) {
	p := newProblem(t, "rbf(ard)", 20, 2, 33)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.dev.NewTileBank(ctx, p.x, 8, 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after cancel", err)
	}
	for _, order := range []int{-8, 0, 4, 12} {
		if _, err := s.dev.NewTileBank(t.Context(), p.x, order, 1, nil); err == nil {
			t.Errorf("order %d accepted", order)
		}
	}
	bad := kernel.NewPoints(slices.Clone(p.x.X), p.x.N, p.x.D)
	bad.Column(1)[3] = math.NaN()
	if _, err := s.dev.NewTileBank(t.Context(), bad, 8, 1, nil); !errors.As(err, new(*device.NonFiniteError)) {
		t.Errorf("error %v for points with a NaN", err)
	}
	b := s.bank(t, p.x, 8, 3)
	adjoint := &device.Adjoint{Outer: []float64{1}, Vectors: make([]float64, 19)}
	for what, binding := range map[string]tiling.Binding{
		"two noise variances":         {Program: p.prog, Theta: p.theta, Noise: make([]float64, 2)},
		"too few parameters":          {Program: p.prog, Theta: p.theta[:1], Noise: p.noise},
		"a kernel of another table":   {Program: newProblem(t, "rbf", 2, 3, 1).prog, Theta: p.theta[:2], Noise: p.noise},
		"an adjoint of fewer numbers": {Program: p.prog, Theta: p.theta, Noise: p.noise, Adjoint: adjoint},
	} {
		if err := b.Bind(binding); err == nil {
			t.Errorf("%s accepted", what)
		}
	}
	testcheck.Do(t, b.Bind(tiling.Binding{Program: p.prog, Theta: p.theta, Noise: p.noise, Adjoint: &device.Adjoint{Inv: 1}}), b.Fill(0, 0, 0, 0))
	if err := b.Contract(0, 0, 0, 0, make([]float64, 1), make([]float64, 8)); err == nil {
		t.Error("a gradient of the wrong length accepted")
	}
	if _, err := b.Factor(0, 0, make([]float64, 7)); err == nil {
		t.Error("a diagonal of the wrong length accepted")
	}
}
