package kernels_test

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gpfit/device/cuda/kernels"
	"gpfit/device/cuda/ptx"
	"gpfit/internal/testcheck"
	"gpfit/kernel/kerneltest"
)

func module(t *testing.T, major, minor int) string {
	t.Helper()
	text := testcheck.Get(kernels.Module(major, minor))(t)
	if text[len(text)-1] != 0 {
		t.Error("no zero byte at the end")
	}
	return string(text[:len(text)-1])
}

func TestModule(t *testing.T) {
	for compute, target := range map[[2]int]string{{8, 0}: "sm_80", {8, 6}: "sm_80", {9, 0}: "sm_90", {10, 0}: "sm_90"} {
		text := module(t, compute[0], compute[1])
		if !strings.Contains(text, "\n.target "+target+"\n") {
			t.Errorf("no .target %s for %d", target, compute)
		}
		version := regexp.MustCompile(`(?m)^\.version (\d+)\.(\d+)$`).FindStringSubmatch(text)
		if version == nil || version[1] != "7" || version[2] > "8" {
			t.Errorf("PTX version %v: at most 7.8, which drivers load from 520 on", version)
		}
	}
	if _, err := kernels.Module(7, 5); err == nil {
		t.Error("a module exists for 7.5")
	}
}

// entries returns the text of every kernel in the module, by name.
func entries(t *testing.T) map[string]string {
	found := map[string]string{}
	for _, part := range strings.Split(module(t, 8, 0), "\n.visible .entry ")[1:] {
		name, body, _ := strings.Cut(part, "(")
		found[name] = body
	}
	return found
}

func TestTableMatchesModule(t *testing.T) {
	found := entries(t)
	for _, k := range kernels.Table() {
		body, ok := found[k.Name]
		delete(found, k.Name)
		if !ok {
			t.Errorf("%s is not in the module", k.Name)
			continue
		}
		list, _, _ := strings.Cut(body, ")")
		var types []string
		for _, m := range regexp.MustCompile(`\.param \.(\w+) `).FindAllStringSubmatch(list, -1) {
			types = append(types, m[1])
		}
		var want []string
		for _, p := range k.Params {
			if p.Kind == ptx.Double {
				want = append(want, "f64")
			} else {
				want = append(want, "u64")
			}
		}
		if !slices.Equal(types, want) {
			t.Errorf("%s has parameters %v in the module, %v in the table", k.Name, types, want)
		}
	}
	for name := range found {
		t.Errorf("%s is not in the table", name)
	}
}

// TestModuleHabits checks the claims about the code in the kernels' documentation.
func TestModuleHabits(t *testing.T) {
	text := module(t, 8, 0)
	for _, bad := range []string{"atom.", "red.", "call", ".extern", ".approx", ".ftz", "vprintf", "trap"} {
		if regexp.MustCompile(`(?m)^\s*(@\S+ )?[^/]*\b` + regexp.QuoteMeta(bad)).MatchString(text) {
			t.Errorf("the module contains %q", bad)
		}
	}
	for name, body := range entries(t) {
		if !strings.Contains(body, ".maxntid "+strconv.Itoa(kernels.Threads)+", 1, 1") {
			t.Errorf("%s has no .maxntid %d", name, kernels.Threads)
		}
		bytes := 0
		for _, m := range regexp.MustCompile(`\.shared \.align \d+ \.b8 \S+\[(\d+)\]`).FindAllStringSubmatch(body, -1) {
			n, _ := strconv.Atoi(m[1])
			bytes += n
		}
		if bytes > 48<<10 {
			t.Errorf("%s has %d bytes of shared memory", name, bytes)
		}
		if strings.Contains(body, "__local_depot") {
			t.Errorf("%s keeps arrays in local memory: a loop is not unrolled", name)
		}
	}
}

func TestLaunchGeometry(t *testing.T) {
	value := testcheck.Get(ptx.New(kerneltest.Program(t, "rbf(ard)", 3)))(t)
	gradient := testcheck.Get(ptx.NewGradient(kerneltest.Program(t, "rbf(ard)", 3)))(t)
	prog, derivatives := kernels.Function{Kernel: value}, kernels.Function{Kernel: gradient}
	// Indices and grids have room for the largest matrix.
	const n = 131_072
	x := kernels.Points{X: 1, N: n}
	l := kernels.Fill(prog, x, kernels.Matrix{A: 2, LD: n}, kernels.Vector{A: 3, N: 1}, 0, n)
	if l.Blocks != 2048*4096 {
		t.Errorf("fill of n = %d: %+v", n, l)
	}
	work := kernels.ContractWork{Blocks: kernels.ContractBlocks(132)}
	c := kernels.Contract(derivatives, x, kernels.Adjoint{Inv: 0.5, Inverse: kernels.Matrix{A: 2, LD: n}}, n-256, n, 4, 5, work)
	if c[0].Blocks != 264 || c[1].Blocks != 16 || c[1].Args[1] != 264 {
		t.Errorf("contraction: %+v", c)
	}
	if c[0].Args[14] != math.Float64bits(0.5) || c[0].Args[10] != n {
		t.Errorf("arguments of the contraction: %v", c[0].Args)
	}
	if l := kernels.Fill(prog, x, kernels.Matrix{A: 2, LD: n}, kernels.Vector{A: 3, N: 1}, 5, 5); l.Blocks != 0 {
		t.Errorf("a fill of no columns takes %d blocks", l.Blocks)
	}
	for what, f := range map[string]func(){
		"leading dimension": func() { kernels.Fill(prog, x, kernels.Matrix{LD: n - 1}, kernels.Vector{N: 1}, 0, n) },
		"columns":           func() { kernels.Fill(prog, x, kernels.Matrix{LD: n}, kernels.Vector{N: 1}, 0, n+1) },
		"noise":             func() { kernels.Fill(prog, x, kernels.Matrix{LD: n}, kernels.Vector{N: 2}, 0, n) },
		"panel": func() {
			kernels.Contract(derivatives, x, kernels.Adjoint{Inverse: kernels.Matrix{LD: 5}}, 0, n, 0, 0, work)
		},
		"middle panel": func() {
			kernels.Contract(derivatives, x, kernels.Adjoint{Inverse: kernels.Matrix{LD: n}, Middle: kernels.Matrix{A: 1, LD: 5}}, 0, n, 0, 0, work)
		},
		"symmetric columns": func() { kernels.SymmetricColumns(kernels.Matrix{LD: n}, n, 0, n, 0, kernels.Matrix{LD: n - 1}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("wrong %s: no panic", what)
				}
			}()
			f()
		}()
	}
}
