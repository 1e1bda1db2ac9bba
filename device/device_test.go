package device

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// fakeDriver finds what it is told and opens nothing.
type fakeDriver struct {
	kind     string
	findings []Finding
	opened   *string
}

func (f fakeDriver) Kind() string                    { return f.kind }
func (f fakeDriver) Probe(context.Context) []Finding { return f.findings }
func (f fakeDriver) Open(_ context.Context, name string, _ Options) (Backend, error) {
	*f.opened = name
	return nil, nil
}

func TestOpen(t *testing.T) {
	var opened string
	cpu := fakeDriver{"cpu", []Finding{{"cpu", true, "8 cores"}}, &opened}
	none := fakeDriver{"cuda", []Finding{{"cuda", false, "no driver"}}, &opened}
	two := fakeDriver{"cuda", []Finding{{"cuda:0", false, "too old"}, {"cuda:1", true, "H200"}}, &opened}
	cases := []struct {
		name    string
		drivers []Driver
		device  string
		words   string // in the reason or the error
	}{
		{"auto", []Driver{none, cpu}, "cpu", "no driver"},
		{"", []Driver{none, cpu}, "cpu", "no driver"},
		{"auto", []Driver{two, cpu}, "cuda:1", "too old"},
		{"auto", []Driver{cpu}, "cpu", "first usable"},
		{"cpu", []Driver{two, cpu}, "cpu", "asked for"},
		{"cpu:0", []Driver{two, cpu}, "cpu", "asked for"},
		{"cuda:1", []Driver{two, cpu}, "cuda:1", "asked for"},
		{"cuda:0", []Driver{two, cpu}, "", "too old"},
		{"cuda:0", []Driver{none, cpu}, "", "no driver"},
		{"cuda:7", []Driver{two, cpu}, "", "no such cuda device"},
		{"cpu:1", []Driver{cpu}, "", "no such cpu device"},
		{"tpu", []Driver{two, cpu}, "", "no such kind of device (usable here: auto, cuda:1, cpu)"},
		{"auto", []Driver{none}, "", "no such kind"},
	}
	for _, c := range cases {
		opened = ""
		_, choice, err := Open(context.Background(), c.name, c.drivers, Options{})
		if c.device == "" {
			var ue *UnavailableError
			if !errors.As(err, &ue) || !strings.Contains(err.Error(), c.words) || opened != "" {
				t.Errorf("%q: error %v, opened %q; want %q", c.name, err, opened, c.words)
			}
			continue
		}
		if err != nil || opened != c.device || choice.Device != c.device || !strings.Contains(choice.Reason, c.words) {
			t.Errorf("%q: opened %q, choice %+v, error %v; want %q because of %q", c.name, opened, choice, err, c.device, c.words)
		}
	}
}

func TestPlanCheck(t *testing.T) {
	p := Plan{N: 1000, HostBytes: 100, DeviceBytes: 50, FlopsGradient: 2e9, FlopRate: 1e9}
	if p.GradientTime().Seconds() != 2 || (Plan{}).GradientTime() != 0 {
		t.Errorf("time %v", p.GradientTime())
	}
	for _, c := range []struct {
		host, device int64
		where        string
	}{{0, 0, ""}, {100, 50, ""}, {99, 50, "host"}, {100, 49, "device"}, {0, 49, "device"}} {
		err := p.Check(c.host, c.device)
		var me *MemoryError
		if c.where == "" && err != nil || c.where != "" && (!errors.As(err, &me) || me.Where != c.where) {
			t.Errorf("free %d, %d: error %v, want %q", c.host, c.device, err, c.where)
		}
		if err != nil && !strings.Contains(err.Error(), "n = 1000") {
			t.Errorf("message %q", err)
		}
	}
}

func TestErrors(t *testing.T) {
	if !IsNotPD(fmt.Errorf("wrapped: %w", &NotPDError{Minor: 3, N: 5})) || IsNotPD(ErrStage) || IsNotPD(nil) {
		t.Error("IsNotPD")
	}
	for want, err := range map[string]error{
		"leading minor of order 3 of 5":                  &NotPDError{Minor: 3, N: 5},
		"inputs: not a finite number at row 1, column 2": &NonFiniteError{"inputs", 1, 2},
		"target: not a finite number at row 1":           &NonFiniteError{"target", 1, -1},
		"covariance matrix: not a finite number":         &NonFiniteError{"covariance matrix", -1, -1},
		`device "cuda:0" is not available: no driver`:    &UnavailableError{"cuda:0", "no driver"},
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q, want %q in it", err, want)
		}
	}
}

func TestFormatBytes(t *testing.T) {
	for b, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 512e6: "488.3 MiB", 80e9: "74.5 GiB", 1 << 62: "4.0 EiB"} {
		if got := FormatBytes(b); got != want {
			t.Errorf("%d: %s, want %s", b, got, want)
		}
	}
}
