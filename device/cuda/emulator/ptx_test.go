package emulator_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/emulator"
	"gpfit/internal/testcheck"
)

// kernelText returns a module with one kernel, k, whose first parameter is the address %out of its
// result. %t is the 32-bit number of a thread. The body begins at line bodyLine.
func kernelText(body string) []byte {
	return []byte(`.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in) {
.reg .pred %p<10>; .reg .b32 %r<20>, %t; .reg .b64 %rd<20>, %out, %in, %mine; .reg .f64 %fd<20>;
ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u32 %t, %tid.x; mul.wide.u32 %mine, %t, 8; add.s64 %mine, %mine, %out;
` + body + "\nret;\n}\n")
}

const bodyLine = 7

// ptxRun runs a kernel in one block and returns the size numbers of its result. The
// kernel's second parameter points to in.
func ptxRun(t *testing.T, text []byte, threads uint32, size int, in []float64) ([]int64, error) {
	t.Helper()
	emulator.Need(t)
	t.Cleanup(emulator.Reset)
	d := testcheck.Get(driver.Open(0))(t)
	defer d.Close()
	m, err := d.LoadModule(text)
	if err != nil {
		return nil, err
	}
	defer m.Unload()
	f, err := m.Function("k")
	if err != nil {
		return nil, err
	}
	s := testcheck.Get(d.NewStream())(t)
	defer s.Destroy()
	out := testcheck.Get(d.Alloc(int64(8 * size)))(t)
	defer d.Free(out)
	given := testcheck.Get(d.Alloc(int64(8 * max(len(in), 1))))(t)
	defer d.Free(given)
	result := make([]int64, size)
	err = errors.Join(driver.CopyToDevice(s, given, in), f.Launch(s, 1, threads, uint64(out), uint64(given)))
	if err != nil {
		return nil, err
	}
	return result, driver.CopyToHost(s, result, out)
}

// wantResult compares the result of a kernel of n threads, which is one number for each thread.
func wantResult(t *testing.T, body string, n int, in []float64, want func(i int) int64) {
	t.Helper()
	got := testcheck.Get(ptxRun(t, kernelText(body), uint32(n), n, in))(t)
	for i, v := range got {
		if v != want(i) {
			t.Fatalf("thread %d: %d (%#x), want %d", i, v, uint64(v), want(i))
		}
	}
}

func TestDivergence(t *testing.T) {
	// These loops have i%7 rounds, in which odd and even rounds diverge again.
	wantResult(t, `rem.u32 %r1, %t, 7; mov.u32 %r2, 0; mov.u32 %r3, 0;
LOOP: setp.ge.u32 %p1, %r2, %r1;
@%p1 bra DONE;
and.b32 %r4, %r2, 1;
setp.eq.s32 %p2, %r4, 0;
@!%p2 bra ODD;
add.s32 %r3, %r3, 100;
setp.gt.u32 %p3, %r2, 3;
@%p3 add.s32 %r3, %r3, 1000;
bra.uni NEXT;
ODD: add.s32 %r3, %r3, 1;
NEXT: add.s32 %r2, %r2, 1;
bra LOOP;
DONE: bar.sync 0;
cvt.u64.u32 %rd1, %r3; st.global.u64 [%mine], %rd1;`, 200, nil, func(i int) int64 {
		sum := int64(0)
		for r := range i % 7 {
			switch {
			case r%2 == 1:
				sum++
			case r > 3:
				sum += 1100
			default:
				sum += 100
			}
		}
		return sum
	})
	// Some threads end early.
	got, err := ptxRun(t, kernelText("setp.gt.u32 %p1, %t, 9; mov.u64 %rd1, 5; st.global.u64 [%mine], %rd1; @%p1 exit; add.u64 %rd1, %rd1, 1; st.global.u64 [%mine], %rd1;"), 12, 12, nil)
	if err != nil || !slices.Equal(got[8:], []int64{6, 6, 5, 5}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestShuffles(t *testing.T) {
	for _, c := range []struct {
		mode string
		from func(lane int) int
		kept func(lane int) bool
	}{
		{"down.b32 %r2|%p1, %t, 3, 31", func(l int) int { return l + 3 }, func(l int) bool { return l+3 < 32 }},
		{"up.b32 %r2|%p1, %t, 3, 0", func(l int) int { return l - 3 }, func(l int) bool { return l >= 3 }},
		{"bfly.b32 %r2|%p1, %t, 16, 31", func(l int) int { return l ^ 16 }, func(int) bool { return true }},
		{"idx.b32 %r2|%p1, %t, 5, 31", func(int) int { return 5 }, func(int) bool { return true }},
		{"down.b32 %r2|%p1, %t, 2, 6151", func(l int) int { return l + 2 }, func(l int) bool { return l%8 < 6 }}, // groups of 8
	} {
		wantResult(t, "shfl.sync."+c.mode+", -1; selp.u32 %r3, 1000, 0, %p1; add.u32 %r2, %r2, %r3; cvt.u64.u32 %rd1, %r2; st.global.u64 [%mine], %rd1;", 64, nil, func(i int) int64 {
			if c.kept(i % 32) {
				return int64(i - i%32 + c.from(i%32) + 1000)
			}
			return int64(i)
		})
	}
	// The kernel adds 64-bit numbers in two halves.
	wantResult(t, `cvt.rn.f64.u32 %fd1, %t; mov.u32 %r5, 16;
AGAIN: mov.b64 {%r1, %r2}, %fd1;
shfl.sync.bfly.b32 %r3, %r1, %r5, 31, -1; shfl.sync.bfly.b32 %r4, %r2, %r5, 31, -1;
mov.b64 %fd2, {%r3, %r4}; add.f64 %fd1, %fd1, %fd2;
shr.u32 %r5, %r5, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra AGAIN;
cvt.rzi.s64.f64 %rd1, %fd1; st.global.u64 [%mine], %rd1;`, 32, nil, func(int) int64 { return 31 * 16 })
}

// TestMatrixProduct compares D = A·B + C of two warps with the definition, for A_ij = 10i + j of a lane's number 4i + j, B_kj = 1 + k + 4j
// of the number 4j + k, and C_ij = 100.
func TestMatrixProduct(t *testing.T) {
	for half, d := range []string{"%fd3", "%fd4"} {
		text := "and.b32 %r1, %t, 31; shr.u32 %r2, %r1, 2; and.b32 %r3, %r1, 3; mul.lo.u32 %r4, %r2, 10; add.u32 %r4, %r4, %r3; cvt.rn.f64.u32 %fd1, %r4;" +
			"add.u32 %r1, %r1, 1; cvt.rn.f64.u32 %fd2, %r1; mov.f64 %fd3, 0d4059000000000000; mov.f64 %fd4, %fd3;" +
			"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd3, %fd4}, {%fd1}, {%fd2}, {%fd3, %fd4}; cvt.rzi.s64.f64 %rd1, " + d + "; st.global.u64 [%mine], %rd1;"
		wantResult(t, text, 64, nil, func(lane int) int64 {
			i, j, sum := lane%32/4, lane%4*2+half, 100
			for k := range 4 {
				sum += (10*i + k) * (1 + k + 4*j)
			}
			return int64(sum)
		})
	}
}

func TestMemory(t *testing.T) {
	in := make([]float64, 64)
	for i := range in {
		in[i] = float64(i * i)
	}
	wantResult(t, `mul.wide.u32 %rd1, %t, 16; add.s64 %rd1, %rd1, %in;
ld.global.nc.v2.f64 {%fd1, %fd2}, [%rd1]; sub.f64 %fd3, %fd2, %fd1;
cvt.rni.s64.f64 %rd2, %fd3; st.global.u64 [%mine], %rd2;`, 32, in, func(i int) int64 { return int64(4*i + 1) })
	// The kernel accesses bytes of local memory by generic addresses, and a table.
	wantResult(t, `.local .align 8 .b8 own[16]; .shared .align 8 .b8 all[512];
mov.u64 %rd1, own; cvta.local.u64 %rd2, %rd1;
st.u8 [%rd2+3], %t; ld.local.u8 %r1, [own+3];
mov.u64 %rd3, all; mul.wide.u32 %rd4, %t, 4; add.s64 %rd3, %rd3, %rd4; st.shared.u32 [%rd3], %r1;
bar.sync 0;
xor.b32 %r2, %t, 1; mul.wide.u32 %rd4, %r2, 4; cvta.shared.u64 %rd5, all; add.s64 %rd5, %rd5, %rd4;
setp.eq.u32 %p1, %r2, 0; selp.b64 %rd5, %rd2, %rd5, %p1;
@%p1 st.local.u32 [own], 77;
ld.s32 %rd6, [%rd5]; st.global.u64 [%mine], %rd6;`, 100, nil, func(i int) int64 {
		if i == 1 {
			return 77
		}
		return int64(i ^ 1)
	})
	table := strings.Replace(string(kernelText(`and.b32 %r1, %t, 1; mul.wide.u32 %rd1, %r1, 8; mov.u64 %rd2, table; add.s64 %rd2, %rd2, %rd1;
ld.const.f64 %fd1, [%rd2]; cvt.rmi.s64.f64 %rd3, %fd1; st.global.u64 [%mine], %rd3;`)), ".visible", ".const .align 8 .f64 table[2] = {1.5, -0d4004000000000000};\n.visible", 1)
	if got, err := ptxRun(t, []byte(table), 2, 2, nil); err != nil || !slices.Equal(got, []int64{1, -3}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestScopes uses the same names for registers and labels in different scopes.
func TestScopes(t *testing.T) {
	wantResult(t, `.reg .b64 v; mov.u64 v, 1; // begin inline asm
{ .reg .b64 v; .reg .pred q; mov.u64 v, 40; setp.lt.u32 q, %t, 3; @q bra L; add.u64 v, v, 10; L: mov.u64 %rd1, v; }
{ .reg .b64 v; mov.u64 v, %rd1; bra L; mov.u64 v, 0; L: add.u64 %rd1, v, 0x100; } /* end
of it */ add.u64 %rd1, %rd1, v; st.global.u64 [%mine], %rd1;`, 5, nil, func(i int) int64 {
		if i < 3 {
			return 297
		}
		return 307
	})
}

func TestArithmetic(t *testing.T) {
	nan, negative := "0d7FF8000000000000", func(v int64) uint64 { return uint64(-v) }
	one := func(b bool) uint64 {
		if b {
			return 1
		}
		return 0
	}
	for code, want := range map[string]uint64{
		"fma.rn.f64 %fd1, 0d3FF0000000000001, 0d3FF0000000000001, -1.0; mov.b64 %rd1, %fd1;":                  math.Float64bits(math.FMA(1+0x1p-52, 1+0x1p-52, -1)),
		"mul.f64 %fd1, 0d3FF0000000000001, 0d3FF0000000000001; add.f64 %fd1, %fd1, -1.0; mov.b64 %rd1, %fd1;": math.Float64bits(0x1p-51),
		"min.f64 %fd1, " + nan + ", 2.0; mov.b64 %rd1, %fd1;":                                                 math.Float64bits(2),
		"max.f64 %fd1, 0d8000000000000000, 0d0000000000000000; mov.b64 %rd1, %fd1;":                           0,
		"copysign.f64 %fd1, -2.0, 3.0; mov.b64 %rd1, %fd1;":                                                   math.Float64bits(-3),
		"cvt.rni.f64.f64 %fd1, 2.5; mov.b64 %rd1, %fd1;":                                                      math.Float64bits(2),
		"cvt.rzi.s32.f64 %r1, 1e30; cvt.s64.s32 %rd1, %r1;":                                                   math.MaxInt32,
		"cvt.rzi.s64.f64 %rd1, " + nan + ";":                                                                  1 << 63,
		"cvt.rmi.s32.f64 %r1, -0.5; cvt.s64.s32 %rd1, %r1;":                                                   negative(1),
		"mul.hi.s64 %rd1, -3, 2;":                                                                             negative(1),
		"mul.hi.u32 %r1, 0x80000000, 6; cvt.u64.u32 %rd1, %r1;":                                               3,
		"mov.u64 %rd2, 5; mad.wide.s32 %rd1, -2, 7, %rd2;":                                                    negative(9),
		"div.s64 %rd1, -7, 2;":                                                                                negative(3),
		"rem.s64 %rd1, -7, 2;":                                                                                negative(1),
		"mov.u32 %r1, 64; shl.b64 %rd1, 1, %r1;":                                                              0,
		"mov.u32 %r1, 99; mov.u64 %rd2, -8; shr.s64 %rd1, %rd2, %r1;":                                         negative(1),
		"mov.u32 %r1, 64; mov.u64 %rd2, -8; shr.u64 %rd1, %rd2, %r1;":                                         0,
		"not.b64 %rd1, 5;": ^uint64(5),
		"setp.lt.f64 %p1, " + nan + ", 1.0; selp.u64 %rd1, 1, 0, %p1;":                                                                 one(false),
		"setp.ltu.f64 %p1, " + nan + ", 1.0; selp.u64 %rd1, 1, 0, %p1;":                                                                one(true),
		"setp.ne.f64 %p1, " + nan + ", 1.0; selp.u64 %rd1, 1, 0, %p1;":                                                                 one(false),
		"setp.num.f64 %p1, 2.0, 1.0; setp.nan.f64 %p2, 2.0, 1.0; not.pred %p3, %p2; and.pred %p1, %p1, %p3; selp.u64 %rd1, 1, 0, %p1;": one(true),
		"mov.pred %p1, -1; xor.pred %p2, %p1, %p1; or.pred %p2, %p2, %p1; @!%p2 bra E; mov.u64 %rd1, 3; E:":                            3,
		"setp.lt.s32 %p1, -1, 0; setp.lt.u32 %p2, -1, 0; selp.u64 %rd1, 1, 0, %p1; @%p2 mov.u64 %rd1, 9;":                              1,
	} {
		got, err := ptxRun(t, kernelText(code+" st.global.u64 [%mine], %rd1;"), 3, 3, nil)
		if err != nil || uint64(got[2]) != want {
			t.Errorf("%s: %#x, %v, want %#x", code, got, err, want)
		}
	}
}

func TestInvalidPTX(t *testing.T) {
	for code, words := range map[string]string{
		"add.s32 %r1, %r1, 1;\nfrobnicate.f64 %fd1, %fd2;": fmt.Sprintf("line %d: error: unknown instruction: frobnicate.f64", bodyLine+1),
		".reg .s64 %i; add.f64 %fd1, %i, %fd2;":            "a register of another type",
		"add.f64 %fd1, %fd2;":                              "2 operands of add.f64",
		"add.f64 %fd1, %fd2, %fd99;":                       "unknown symbol %fd99",
		"add.f64 %fd1, %fd2, 1;":                           "a constant of another type",
		"bra NOWHERE;":                                     "unknown label NOWHERE",
		".reg .b32 %t;":                                    "duplicate definition of %t",
		"ld.global.f99 %fd1, [%in];":                       "unknown instruction",
		"ld.global.f64 %fd1, %in;":                         "not an address",
		"add.f64 %fd1, %fd2, 0d12;":                        "too many or too few digits",
		".shared .align 8 .b8 much[50000];":                "too much shared memory",
		"mov.u32 %tid.x, 5;":                               "a register of another type",
		"{ add.f64 %fd1, %fd2, %fd3;":                      "a brace is not closed",
		"add.f64 %fd1, %fd2, %fd3":                         "; is expected",
	} {
		_, err := ptxRun(t, kernelText(code), 1, 1, nil)
		var e *driver.Error
		if !errors.As(err, &e) || !e.InvalidModule() || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: error %v, want one of %q", code, err, words)
		}
	}
}
