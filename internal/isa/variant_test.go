package isa

import (
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	supported := Supported()
	if last := supported[len(supported)-1]; last != Generic {
		t.Errorf("the last variant is %v", last)
	}
	if !slices.IsSortedFunc(supported, func(a, b Variant) int { return int(b) - int(a) }) {
		t.Errorf("variants %v are not in order", supported)
	}
	t.Setenv(Env, "")
	if v, err := Choose(); v != supported[0] || err != nil {
		t.Errorf("%v, %v, want the best one, %v", v, err, supported[0])
	}
	for _, v := range supported {
		t.Setenv(Env, v.String())
		if got, err := Choose(); got != v || err != nil {
			t.Errorf("%v, %v, want %v", got, err, v)
		}
	}
	missing := "neon"
	if runtime.GOARCH == "arm64" {
		missing = "avx2"
	}
	for name, want := range map[string]string{
		missing:  Env + "=" + missing + ": not supported by this machine (it has: ",
		"AVX512": Env + `="AVX512": unknown variant (known: avx512, avx2, neon, generic)`,
	} {
		t.Setenv(Env, name)
		if v, err := Choose(); v != Generic || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want the generic variant and %q", name, v, err, want)
		}
	}
}
