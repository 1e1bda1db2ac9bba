package ptx_test

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gpfit/device/cuda/ptx"
	"gpfit/internal/testcheck"
	"gpfit/kernel/kerneltest"
)

func text(t *testing.T, kernelText string, d int, e *ptx.Entry) (*ptx.Kernel, []byte) {
	t.Helper()
	k := testcheck.Get(ptx.For(kerneltest.Program(t, kernelText, d), e))(t)
	return k, k.Text(e, "sm_80")
}

// TestInstructions limits the float64 instructions for a pair of points of 8 columns.
func TestInstructions(t *testing.T) {
	for _, c := range []struct {
		text                    string
		fill, contract, product float64
	}{
		{"rbf", 37, 44, 39},
		{"rbf(ard)", 45, 76, 77},
		{"matern32(ard)", 60, 95, 94},
		{"rq", 94, 123, 118},
		{"periodic", 141, 232, 227},
		{"cosine(ard)", 32, 65, 66},
		{"linear(ard)", 17, 38, 41},
		{"rbf(ard) + matern32 + periodic", 220, 342, 342},
	} {
		for e, limit := range map[*ptx.Entry]float64{ptx.Fill: c.fill, ptx.Contract: c.contract, ptx.Derivatives(1): c.product} {
			k, code := text(t, c.text, 8, e)
			if perPair := float64(ptx.CountFloat64(code)) / float64(k.Pairs(e)); perPair > limit {
				t.Errorf("%s, %s: %.1f instructions, at most %v are needed", c.text, e.Name, perPair, limit)
			}
		}
	}
}

// TestText checks the claims about the text in the documentation.
func TestText(t *testing.T) {
	bare := regexp.MustCompile(`(?m)^\t(@\S+ )?(add|sub|mul|fma|mad|div|rcp|sqrt)\.f64`)
	for _, kernelText := range []string{"rbf", "constant", "rq*periodic(ard) + linear(dims=1)*cosine", "matern52(ard) + poly(3)"} {
		for _, e := range ptx.Entries() {
			for _, d := range []int{2, 20, 40} {
				_, code := text(t, kernelText, d, e)
				_, again := text(t, kernelText, d, e)
				if !bytes.Equal(code, again) {
					t.Errorf("%s, %s: another text the second time", kernelText, e.Name)
				}
				if m := bare.Find(code); m != nil {
					t.Errorf("%s, %s: %q does not say how it rounds", kernelText, e.Name, m)
				}
				for _, bad := range []string{"atom.", "\tred.", "call", ".extern", ".approx", ".ftz", ".local"} {
					if strings.Contains(string(code), bad) {
						t.Errorf("%s, %s: %q", kernelText, e.Name, bad)
					}
				}
				shared := 0
				for _, m := range regexp.MustCompile(`\.b8 \w+\[(\d+)\]`).FindAllSubmatch(code, -1) {
					n, _ := strconv.Atoi(string(m[1]))
					shared += n
				}
				if shared > 48<<10 {
					t.Errorf("%s, %s, d = %d: %d bytes of shared memory", kernelText, e.Name, d, shared)
				}
				if !strings.Contains(string(code), ".visible .entry "+e.Name+"(") {
					t.Errorf("no entry %s", e.Name)
				}
			}
		}
	}
}

func TestLimits(t *testing.T) {
	for what, text := range map[string]string{
		"columns": strings.Repeat("rbf(ard) + ", 230) + "rbf", "features": strings.Repeat("periodic + ", 256) + "rbf",
	} {
		_, err := ptx.New(kerneltest.Program(t, text, 300))
		if !errors.Is(err, ptx.ErrLimit) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: error %v", what, err)
		}
	}
}

func TestTarget(t *testing.T) {
	for major, want := range map[int]string{8: "sm_80", 9: "sm_90", 10: "sm_90"} {
		if got, err := ptx.Target(major, 0); got != want || err != nil {
			t.Errorf("target of %d.0 is %s, %v", major, got, err)
		}
	}
	if _, err := ptx.Target(7, 5); err == nil {
		t.Error("a target exists for 7.5")
	}
}

// TestUniforms checks that a constant function needs no element of the array.
func TestUniforms(t *testing.T) {
	k := testcheck.Get(ptx.New(kerneltest.Program(t, "constant", 1)))(t)
	out := make([]float64, k.Size())
	if k.Uniforms(out, []float64{2.5}); len(out) != 1 || out[0] != 2.5 {
		t.Errorf("uniforms %v", out)
	}
}
