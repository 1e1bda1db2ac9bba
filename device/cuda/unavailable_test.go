package cuda

import (
	"context"
	"strings"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/cuda/emulator"
	"gpfit/internal/testcheck"
)

// TestUnavailable opens cuda:0 on machines where it is not available. Both the probe
// and the error must give the reason in words.
func TestUnavailable(t *testing.T) {
	emulator.Need(t)
	for name, c := range map[string]struct {
		machine emulator.Config
		// finding is the name that the probe reports.
		finding string
		words   []string
	}{
		"no driver":         {emulator.Config{NoDriver: true}, "cuda", []string{"libcuda"}},
		"no device":         {emulator.Config{Devices: -1}, "cuda", []string{"no GPU"}},
		"old driver":        {emulator.Config{DriverVersion: 11080}, "cuda", []string{"supports CUDA 11.8", "needs 12.0"}},
		"driver fails":      {emulator.Config{InitCode: 803}, "cuda", []string{"does not start", "different versions"}},
		"old card":          {emulator.Config{Compute: "70"}, "cuda:0", []string{"compute capability 7.0", "needs 8.0"}},
		"prohibited":        {emulator.Config{ComputeMode: "2"}, "cuda:0", []string{"prohibited"}},
		"no libraries":      {emulator.Config{Toolkit: emulator.NoToolkit, Env: []string{"GPFIT_CUDA_LIB=/nonexistent"}}, "cuda:0", []string{"cuBLAS and cuSOLVER", "/nonexistent"}},
		"no cuSOLVER":       {emulator.Config{Toolkit: emulator.Incomplete}, "cuda:0", []string{"libcublas.so.12 exists but libcusolver.so.11 does not"}},
		"mixed toolkits":    {emulator.Config{Toolkit: emulator.Mixed}, "cuda:0", []string{"mixes toolkits"}},
		"mixed cuSPARSE":    {emulator.Config{Toolkit: emulator.MixedSparse}, "cuda:0", []string{"mixes toolkits"}},
		"toolkit too new":   {emulator.Config{Toolkit: emulator.CUDA13}, "cuda:0", []string{"CUDA 13 needs a driver for CUDA 13.0", "this one supports 12.4"}},
		"context not given": {emulator.Config{Faults: []emulator.Fault{{Entry: "cuDevicePrimaryCtxRetain", K: 1, Code: 46}}}, "", []string{"busy or unavailable"}},
		"lacking functions": {emulator.Config{Toolkit: emulator.Lacking}, "", []string{"lack cublas", "needs CUDA 12.0"}},
		"no kernel image":   {emulator.Config{Faults: []emulator.Fault{{Entry: "cuModuleLoadDataEx", K: 1, Code: 222}, {Entry: "cuModuleLoadData", K: 1, Code: 222}}}, "", []string{"newer than the driver"}},
	} {
		t.Run(name, func(t *testing.T) {
			if emulator.Rerun(t, c.machine) {
				return
			}
			found := Driver{}.Probe(context.Background())
			_, err := openDevice("cuda:0")
			reason := unavailable(t, err)
			if len(found) != 1 || c.finding == "" && !found[0].Usable || c.finding != "" && (found[0].Usable || found[0].Name != c.finding) {
				t.Fatalf("probe: %+v", found)
			}
			texts := []string{reason}
			if c.finding != "" {
				_, choice, err := device.Dispatch(context.Background(), device.Request{Device: "cuda:0"}, []device.Driver{Driver{}})
				texts = append(texts, found[0].Detail, unavailable(t, err), choice.Findings[0].Detail)
			}
			for _, text := range texts {
				for _, w := range c.words {
					if !strings.Contains(text, w) {
						t.Errorf("%q is not in the reason %q", w, text)
					}
				}
				if strings.Contains(text, "is not available") || strings.ContainsAny(text, "\n") {
					t.Errorf("the reason repeats itself or has lines: %q", text)
				}
			}
			if found[0].Name != "cuda" && emulator.Retained(0) != 0 { // "cuda" stands for no emulated driver
				t.Errorf("the context is retained %d times", emulator.Retained(0))
			}
		})
	}
}

// TestSecondDevice checks that gpfit uses the second device if the first is unusable.
func TestSecondDevice(t *testing.T) {
	emulator.Need(t)
	if emulator.Rerun(t, emulator.Config{Devices: 2, Compute: "75,86"}) {
		return
	}
	all, choice := testcheck.Get2(device.Dispatch(context.Background(), device.Request{}, []device.Driver{Driver{}}))(t)
	b := all[0]
	defer mustClose(t, b)
	if b.Info().Name != "cuda:1" || !strings.Contains(choice.Reason, "7.5") {
		t.Errorf("opened %s because %s", b.Info().Name, choice.Reason)
	}
	if _, err := openDevice("cuda:0"); !strings.Contains(unavailable(t, err), "7.5") {
		t.Error(err)
	}
}

// TestSelfTestRefuses makes each kernel and routine of an evaluation fail silently and
// checks that gpfit refuses the device.
func TestSelfTestRefuses(t *testing.T) {
	emulator.Need(t)
	for _, entry := range []string{
		"gpfit_fill", "gpfit_cross", "gpfit_contract", "gpfit_contract", "gpfit_symcols", "gpfit_reduce", "gpfit_logdiag", "gpfit_sumsq", "gpfit_getdiag",
		"gpfit_setdiag", "gpfit_copy", "gpfit_invert", "gpfit_firstbad", "gpfit_multiply", "gpfit_readrows", "gpfit_writerows",
		"gpfit_batch_leaf", "gpfit_batch_below", "gpfit_batch_trailing", "gpfit_batch_above", "gpfit_batch_expand",
		"gpfit_batch_forward", "gpfit_batch_backward", "gpfit_batch_logdet",
		"cublasDgemm_v2_64", "cublasDtrsm_v2_64", "cublasDgemmStridedBatched_64", "cublasDsymm_v2_64", "cusolverDnXpotrf",
	} {
		t.Run(entry, func(t *testing.T) {
			emulator.Check(t)
			before := emulator.Used(0)
			emulator.Inject(t, entry, 1, emulator.Silent)
			_, err := openDevice("cuda:0")
			if emulator.Calls(entry) == 0 {
				t.Fatal("the self-test does not use it")
			}
			if reason := unavailable(t, err); !strings.Contains(reason, "self-test") {
				t.Errorf("reason %q", reason)
			}
			if used := emulator.Used(0); used != before {
				t.Errorf("%d bytes in use, %d before", used, before)
			}
			b := openBare(t, 0)
			texts := selfTests
			if strings.HasPrefix(entry, "gpfit_batch") {
				texts = texts[1:]
			} else if strings.HasPrefix(entry, "cu") || !testcheck.Long() {
				texts = texts[:1] // the library calls are the same for every program
			}
			for _, test := range texts {
				b.sizes = test.sizes
				for k := 1; ; k = sparse(k) {
					emulator.Reset()
					emulator.Inject(t, entry, k, emulator.Silent)
					err := b.selfTestOf(t.Context(), test.kernel)
					if emulator.Calls(entry) < k {
						if err != nil {
							t.Error(err)
						}
						break
					}
					if err == nil && entry == "gpfit_fill" && k > emulator.Calls(entry)/2 {
						continue // the second Fill is overwritten
					}
					if err == nil {
						t.Fatalf("%s: a device is good whose call %d does nothing", test.kernel, k)
					}
					if k == 3 && !testcheck.Long() {
						break
					}
				}
			}
		})
	}
}

// TestFallback makes the self-test of a device fail. Both auto and a name with a
// fallback must then choose the CPU and keep the reason.
func TestFallback(t *testing.T) {
	emulator.Check(t)
	drivers := []device.Driver{Driver{}, cpu.Driver{}}
	for _, req := range []device.Request{{Device: "auto"}, {Device: "cuda:0", Fallback: "cpu"}} {
		emulator.Inject(t, "gpfit_invert", 1, emulator.Silent)
		all, choice := testcheck.Get2(device.Dispatch(context.Background(), req, drivers))(t)
		if choice.Device != "cpu" || !strings.Contains(choice.Reason, "self-test: the device computes") {
			t.Errorf("%s: %+v", req.Device, choice)
		}
		mustClose(t, all[0])
		emulator.Reset()
	}
}

// TestSlow checks that a device whose float64 is slow says so, and what may help.
func TestSlow(t *testing.T) {
	for _, c := range []struct {
		name, compute, ratio, words string
	}{
		{"fast", "90", "2", ""}, {"consumer", "89", "64", "SLOW in float64: 1/64 of its float32 rate, so that a CPU may be faster"},
		{"blackwell", "120", "64", "CUBLAS_EMULATE_DOUBLE_PRECISION=1 lets cuBLAS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			emulator.Need(t)
			if emulator.Rerun(t, emulator.Config{Compute: c.compute, Env: []string{"GPFIT_EMU_SINGLE=" + c.ratio}}) {
				return
			}
			if detail := (Driver{}).Probe(t.Context())[0].Detail; !strings.Contains(detail, c.words) || strings.Contains(detail, "SLOW") != (c.words != "") {
				t.Errorf("%q, want %q", detail, c.words)
			}
		})
	}
}
