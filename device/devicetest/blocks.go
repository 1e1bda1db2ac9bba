package devicetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"gpfit/device"
	"gpfit/internal/must"
)

// divisions returns ends of blocks of n rows: single rows, one block, and blocks of
// different sizes.
func divisions(n int) [][]int {
	single, uneven := make([]int, n), []int(nil)
	for i := range single {
		single[i] = i + 1
	}
	for end, m := 0, 1; end < n; m += 13 {
		end = min(end+m, n)
		uneven = append(uneven, end)
	}
	return [][]int{single, {n}, uneven}
}

func testInverseBlocks(t *testing.T, s suite) {
	ctx := context.Background()
	for _, n := range withMiddle {
		p, _ := noisyProblem(t, n)
		w := s.formed(t, p)
		c, r := capability[device.BlockInverse](t, w), newReference(t, p)
		for _, ends := range divisions(n) {
			got := device.NewBlocks(ends)
			must.Do(t, c.InverseBlocks(ctx, got))
			var want []float64
			first := 0
			for _, end := range ends {
				for i := first; i < end; i++ {
					for j := first; j < end; j++ {
						want = append(want, r.inverse.At(i, j))
					}
				}
				first = end
			}
			compare(t, fmt.Sprintf("n = %d: %d blocks of the inverse", n, len(ends)), got.Elements, want, vectorTolerance)
		}
		checkContract(t, w, r, device.Adjoint{Inv: 1}, "after InverseBlocks")
	}
}

// testContractBlocks contracts middle terms of symmetric blocks, alone and with the other
// parts of an adjoint, among other contractions.
func testContractBlocks(t *testing.T, s suite) {
	for _, n := range withMiddle {
		p, rng := noisyProblem(t, n)
		w, r := s.formed(t, p), newReference(t, p)
		c := capability[device.BlockInverse](t, w)
		for k, ends := range divisions(n) {
			middle := symmetricBlocks(rng, ends)
			for _, adj := range []device.Adjoint{{}, {Inv: 0.5, Outer: normals(rng, 3), Vectors: normals(rng, 3*n)}} {
				checkContraction(t, w, r, adj, middle, fmt.Sprintf("n = %d, division %d", n, k), func(grad, diag []float64) error {
					return c.ContractBlocks(context.Background(), adj, middle, p.prog, p.theta, grad, diag)
				})
			}
			checkContract(t, w, r, device.Adjoint{Inv: 1}, "after ContractBlocks")
		}
	}
}

// symmetricBlocks returns blocks of random numbers.
func symmetricBlocks(rng *rand.Rand, ends []int) *device.Blocks {
	b := device.NewBlocks(ends)
	_ = b.Each(func(_, m int, elements []float64) error {
		for i := range m {
			for j := range i + 1 {
				elements[i*m+j] = rng.NormFloat64()
				elements[j*m+i] = elements[i*m+j]
			}
		}
		return nil
	})
	return b
}

func testBlockSizes(t *testing.T, s suite) {
	const n = 20
	p := newProblem(t, "rbf", n, 1, 21)
	c, ctx := capability[device.BlockInverse](t, s.formed(t, p)), context.Background()
	contract := func(adj device.Adjoint, b *device.Blocks) error {
		return c.ContractBlocks(ctx, adj, b, p.prog, p.theta, make([]float64, 2), make([]float64, n))
	}
	for what, b := range map[string]*device.Blocks{
		"too few rows":  device.NewBlocks([]int{5, n - 1}),
		"too many rows": device.NewBlocks([]int{5, n + 1}),
		"an empty fold": device.NewBlocks([]int{5, 5, n}),
		"few elements":  {Ends: []int{n}, Elements: make([]float64, n*n-1)},
	} {
		if err := c.InverseBlocks(ctx, b); err == nil {
			t.Errorf("InverseBlocks accepted blocks with %s", what)
		}
		if err := contract(device.Adjoint{}, b); err == nil {
			t.Errorf("ContractBlocks accepted blocks with %s", what)
		}
	}
	good := device.NewBlocks([]int{5, n})
	if err := contract(device.Adjoint{Outer: []float64{1}}, good); err == nil {
		t.Error("ContractBlocks accepted vectors of the wrong length")
	}
	if err := contract(device.Adjoint{}, good); err != nil {
		t.Errorf("after wrong arguments: %v", err)
	}
}
