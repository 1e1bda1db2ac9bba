package device

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// fakeDevice is a device that has only a name.
type fakeDevice struct {
	DenseDevice
	name   string
	closed *[]string
}

// Supports rejects one kernel, which only the host evaluates.
func (d fakeDevice) Supports(prog *kernel.Program) error {
	if d.name != "cpu" && prog.Text == "mine" {
		return &UnsupportedKernelError{Device: d.name, Kernel: prog.Text, Err: errors.New("written in Go")}
	}
	return nil
}

func (d fakeDevice) Info() Info {
	return Info{Name: d.name, Description: "a " + d.name, Host: d.name == "cpu"}
}

func (d fakeDevice) Plan(n, columns int) Plan { return MatrixPlan(n, columns, "", 8) }

// structured is a method that takes the operations of a share of the points, if they are known. host
// means that it computes only on the host.
type structured struct {
	Dense
	share float64
	host  bool
}

func (s structured) Backends(devices []Device) ([]Backend, error) {
	all, err := s.Dense.Backends(devices)
	for i, b := range all {
		if s.host && !b.Info().Host {
			return nil, &UnavailableError{Device: b.Info().Name, Reason: "it is no host"}
		}
		all[i] = structuredBackend{b, s.share}
	}
	return all, err
}

type structuredBackend struct {
	Backend
	share float64
}

func (b structuredBackend) Capabilities() Capabilities { return Capabilities{Method: "structured"} }

func (b structuredBackend) Plan(w Workload) Plan {
	if w.Points != nil {
		w.N = int(b.share * float64(w.N))
	}
	return b.Backend.Plan(w)
}

// TestChooseMethod checks that a method is chosen if it saves a tenth, and that the choice of a device counts
// what the method saves.
func TestChooseMethod(t *testing.T) {
	var closed []string
	cpu := fakeDriver{"cpu", []Finding{{Name: "cpu", Host: true, Usable: true}}, "", &closed}
	gpu := fakeDriver{"cuda", []Finding{{Name: "cuda:0", Usable: true}}, "", &closed}
	crossover := &Crossover{Measure: func(context.Context, Backend, Backend) (int, error) { return 2000, nil }}
	for _, c := range []struct {
		share          float64
		w              Workload
		device, method string
		words          string
		host           bool
	}{
		{0.5, Workload{N: 3000, Points: &kernel.Points{}}, "cpu", "structured", "no more operations than n = 1500", true},
		{0.7, Workload{N: 3000, Points: &kernel.Points{}}, "cuda:0", "dense", "first usable", true},
		{0.5, Workload{N: 3000, Points: &kernel.Points{}}, "cpu", "structured", "no more operations than n = 1500", false},
		{0.7, Workload{N: 3000, Points: &kernel.Points{}}, "cuda:0", "structured", "first usable", false},
		{0.96, Workload{N: 3000, Points: &kernel.Points{}}, "cuda:0", "structured", "first usable", false},
		{0.97, Workload{N: 3000, Points: &kernel.Points{}}, "cuda:0", "dense", "first usable", false},
		{0.5, Workload{N: 3000}, "cuda:0", "dense", "first usable", false},
		{0.5, Workload{N: 1500}, "cpu", "dense", "this job has n = 1500", false},
	} {
		backends, choice := testcheck.Get2(Dispatch(t.Context(), Request{Workload: c.w, Crossover: crossover}, []Driver{gpu, cpu}, Dense{}, structured{share: c.share, host: c.host}))(t)
		if method := backends[0].Capabilities().Method; choice.Device != c.device || method != c.method || !strings.Contains(choice.Reason, c.words) {
			t.Errorf("share %v of %+v: %s by %s because of %q, want %s by %s because of %q", c.share, c.w, choice.Device, method, choice.Reason, c.device, c.method, c.words)
		}
	}
}

func (d fakeDevice) Close() error {
	*d.closed = append(*d.closed, d.name)
	return nil
}

// fakeDriver returns the given findings; devices named in broken fail to open.
type fakeDriver struct {
	kind     string
	findings []Finding
	broken   string
	closed   *[]string
}

func (f fakeDriver) Kind() string                    { return f.kind }
func (f fakeDriver) Probe(context.Context) []Finding { return f.findings }
func (f fakeDriver) Open(_ context.Context, name string, _ Options) (Device, error) {
	if name == f.broken {
		return nil, &UnavailableError{Device: name, Reason: "self-test failed"}
	}
	return fakeDevice{name: name, closed: f.closed}, nil
}

func TestDispatch(t *testing.T) {
	var closed []string
	cpu := fakeDriver{"cpu", []Finding{{Name: "cpu", Host: true, Usable: true, Detail: "8 cores"}}, "", &closed}
	none := fakeDriver{"cuda", []Finding{{Name: "cuda", Host: false, Usable: false, Detail: "no driver"}}, "", &closed}
	two := fakeDriver{"cuda", []Finding{{Name: "cuda:0", Host: false, Usable: false, Detail: "too old"}, {Name: "cuda:1", Host: false, Usable: true, Detail: "H200"}}, "", &closed}
	pair := fakeDriver{"cuda", []Finding{{Name: "cuda:0", Host: false, Usable: true, Detail: "H200"}, {Name: "cuda:1", Host: false, Usable: true, Detail: "H200"}}, "", &closed}
	broken := fakeDriver{"cuda", []Finding{{Name: "cuda:0", Host: false, Usable: true, Detail: "H200"}}, "cuda:0", &closed}
	at := func(n int) *Crossover {
		return &Crossover{Measure: func(context.Context, Backend, Backend) (int, error) { return n, nil }}
	}
	known := at(50)
	known.Path = filepath.Join(t.TempDir(), "crossover.json")
	testcheck.Get(known.Renew(context.Background(), pair.findings[0], cpu.findings[0], nil, nil))(t)
	mine, plain := &kernel.Program{Text: "mine"}, &kernel.Program{Text: "rbf"}
	cases := []struct {
		req     Request
		drivers []Driver
		device  string // of the choice, "" for an error
		words   string // in the reason or the error
	}{
		{Request{Device: "auto"}, []Driver{none, cpu}, "cpu", "no driver"},
		{Request{}, []Driver{none, cpu}, "cpu", "no driver"},
		{Request{Device: "auto"}, []Driver{two, cpu}, "cuda:1", "too old"},
		{Request{Device: "auto"}, []Driver{cpu}, "cpu", "first usable"},
		{Request{Device: "auto"}, []Driver{broken, cpu}, "cpu", "self-test failed"},
		{Request{Device: "auto", Workload: Workload{N: 1999}, Crossover: at(2000)}, []Driver{pair, cpu}, "cpu", "cuda:0 pays off from n = 2000 on, but this job has n = 1999"},
		{Request{Device: "auto", Workload: Workload{N: 2000}, Crossover: at(2000)}, []Driver{pair, cpu}, "cuda:0", "first usable"},
		{Request{Device: "auto", Workload: Workload{N: 9000}, Crossover: at(NeverPays)}, []Driver{pair, cpu}, "cpu", "cuda:0 was not faster"},
		{Request{Device: "cuda:0", Workload: Workload{N: 10}, Crossover: at(2000)}, []Driver{pair, cpu}, "cuda:0", "requested by the user"},
		// A known crossover or a small job decides without opening a device.
		{Request{Device: "auto", Workload: Workload{N: 999}, Crossover: at(1)}, []Driver{broken, cpu}, "cpu", "cuda:0 was not opened"},
		{Request{Device: "auto", Workload: Workload{N: 49}, Crossover: known}, []Driver{broken, cpu}, "cpu", "cuda:0 pays off from n = 50 on"},
		{Request{Device: "auto", Workload: Workload{N: 50}, Crossover: known}, []Driver{pair, cpu}, "cuda:0", "first usable"},
		{Request{Device: "cpu"}, []Driver{two, cpu}, "cpu", "requested by the user"},
		{Request{Device: "cpu:0"}, []Driver{two, cpu}, "cpu:0", "requested by the user"},
		{Request{Device: "cuda:1"}, []Driver{two, cpu}, "cuda:1", "requested by the user"},
		{Request{Device: "cuda:0, cuda:1"}, []Driver{pair, cpu}, "cuda:0, cuda:1", "requested by the user"},
		{Request{Device: "cuda:0"}, []Driver{two, cpu}, "", "too old"},
		{Request{Device: "cuda:0"}, []Driver{none, cpu}, "", "no driver"},
		{Request{Device: "cuda:0", Fallback: "cpu"}, []Driver{none, cpu}, "cpu", "no driver"},
		{Request{Device: "cuda:0", Fallback: "cpu"}, []Driver{broken, cpu}, "cpu", "self-test failed"},
		{Request{Device: "cuda:0", Fallback: "cuda:5"}, []Driver{broken, cpu}, "", "no such cuda device"},
		{Request{Device: "cuda:0,cuda:7"}, []Driver{pair, cpu}, "", "no such cuda device"},
		{Request{Device: "cuda:7"}, []Driver{two, cpu}, "", "no such cuda device"},
		{Request{Workload: Workload{Program: plain}}, []Driver{pair, cpu}, "cuda:0", "first usable"},
		{Request{Workload: Workload{Program: mine}}, []Driver{pair, cpu}, "cpu", "cannot evaluate the kernel mine: written in Go; the CPU can"},
		{Request{Device: "cuda:0", Workload: Workload{Program: mine}}, []Driver{pair, cpu}, "", "cannot evaluate the kernel mine"},
		{Request{Device: "cuda:0", Workload: Workload{Program: mine}, Fallback: "cpu"}, []Driver{pair, cpu}, "cpu", "cannot evaluate the kernel mine"},
		{Request{Device: "cpu:1"}, []Driver{cpu}, "", "no such cpu device"},
		{Request{Device: "tpu"}, []Driver{two, cpu}, "", "no such kind of device (usable here: auto, cuda:1, cpu)"},
		{Request{Device: "auto"}, []Driver{none}, "", "cuda: no driver"},
		{Request{Device: "cuda"}, []Driver{two, cpu}, "cuda", "requested by the user"},
		{Request{Device: "cuda"}, []Driver{none, cpu}, "", "no driver"},
	}
	for _, c := range cases {
		closed = nil
		backends, choice, err := Dispatch(context.Background(), c.req, c.drivers)
		if c.device == "" {
			typed := errors.As(err, new(*UnavailableError)) || c.req.Workload.Program == mine && errors.As(err, new(*UnsupportedKernelError))
			if !typed || !strings.Contains(err.Error(), c.words) || backends != nil {
				t.Errorf("%+v: error %v, backends %v; want %q", c.req, err, backends, c.words)
			}
			if strings.Contains(c.req.Device, ",") && len(closed) != 1 {
				t.Errorf("%+v: closed %v, want the device that was open", c.req, closed)
			}
			continue
		}
		if err != nil || choice.Device != c.device || !strings.Contains(choice.Reason, c.words) ||
			len(backends) != 1+strings.Count(c.device, ",") || choice.FellBack != (c.req.Fallback != "") {
			t.Errorf("%+v: backends %v, choice %+v, error %v; want %q because of %q", c.req, backends, choice, err, c.device, c.words)
		}
	}
}

func TestCrossover(t *testing.T) {
	gpu, cpu, other := Finding{Name: "cuda:0", Detail: "H200"}, Finding{Name: "cpu", Detail: "8 cores"}, Finding{Name: "cuda:1", Detail: "H100"}
	measured := 0
	c := &Crossover{
		Path:    t.TempDir() + "/a/crossover.json",
		Measure: func(context.Context, Backend, Backend) (int, error) { measured++; return 512 * measured, nil },
	}
	for _, want := range []struct {
		ask         func(ctx context.Context, found, hostFound Finding, accelerator, host Backend) (int, error)
		n, measured int
	}{{c.Of, 512, 1}, {c.Of, 512, 1}, {c.Renew, 1024, 2}, {c.Of, 1024, 2}} {
		n, err := want.ask(context.Background(), gpu, cpu, nil, nil)
		if err != nil || n != want.n || measured != want.measured {
			t.Errorf("crossover %d after %d measurements, error %v; want %+v", n, measured, err, want)
		}
	}
	// Another pair is measured separately, and a damaged file is not an error.
	if n, _ := c.Of(context.Background(), other, cpu, nil, nil); n != 1536 {
		t.Errorf("crossover of another device %d", n)
	}
	testcheck.Do(t, os.WriteFile(c.Path, []byte("{"), 0o644))
	if n, err := c.Of(context.Background(), gpu, cpu, nil, nil); n != 2048 || err != nil {
		t.Errorf("crossover %d with a damaged cache, error %v", n, err)
	}
}

// TestChoose checks decisions, which open nothing.
func TestChoose(t *testing.T) {
	found := Find(context.Background(), []Driver{
		fakeDriver{kind: "cuda", findings: []Finding{{Name: "cuda:0", Host: false, Usable: false, Detail: "too old"}, {Name: "cuda:1", Host: false, Usable: true, Detail: "H200"}, {Name: "cuda:2", Host: false, Usable: true, Detail: "H100"}}},
		fakeDriver{kind: "gonum", findings: []Finding{{Name: "gonum", Host: true, Usable: true, ByName: true}}},
		fakeDriver{kind: "cpu", findings: []Finding{{Name: "cpu", Host: true, Usable: true, Detail: "8 cores"}}},
	})
	for name, want := range map[string]string{"": "cuda:1", "auto": "cuda:1", "cuda": "cuda:1", "cuda:2": "cuda:2", "cpu": "cpu", "cpu:0": "cpu", "cuda:0": "", "tpu": "", "cpu:1": "", "gonum": "gonum"} {
		c, err := found.Choose(name)
		if c.Device != want || (err != nil) != (want == "") || (c.Reason == "") != (want == "") || c.Asked != name && name != "" {
			t.Errorf("%q: %+v, error %v; want %q", name, c, err, want)
		}
	}
	named := fakeDriver{kind: "gonum", findings: []Finding{{Name: "gonum", Host: true, Usable: true, ByName: true}}}
	if b, c, err := Dispatch(context.Background(), Request{}, []Driver{named}); err == nil {
		t.Errorf("auto opened %v: %+v", b, c)
	}
	if c, err := Find(context.Background(), []Driver{named}).Choose("auto"); err == nil {
		t.Errorf("auto chose %+v", c)
	}
	if c, err := (Found{}).Choose("auto"); err == nil {
		t.Errorf("%+v where there is nothing", c)
	}
	onHost := func(name string) bool {
		d, ok := found.OnHost(name)
		return ok && d == Kind(name)
	}
	if found.Host() != "cpu" || !onHost("gonum") || !onHost("cpu") || !onHost("cpu:0") || onHost("cuda") || onHost("cpu:1") {
		t.Errorf("the host is %q", found.Host())
	}
	if a := found.Accelerators(); len(a) != 2 || a[0].Name != "cuda:1" || a[1].Name != "cuda:2" || found.AcceleratorKind() != "cuda" {
		t.Errorf("accelerators %v of kind %q", a, found.AcceleratorKind())
	}
	if (Found{}).Host() != "" || (Found{}).AcceleratorKind() != "" {
		t.Error("devices where there are none")
	}
	if !means("cuda", "cuda:3") || !means("cuda:3", "cuda:3") || means("cuda:3", "cuda") || means("cpu", "cuda:3") {
		t.Error("Means")
	}
}

// noMethod fails on every device.
type noMethod struct{ Dense }

func (noMethod) About() About { return About{Name: "none", Exact: true} }

func (noMethod) Backends(d []Device) ([]Backend, error) {
	return nil, &UnavailableError{Device: d[0].Info().Name, Reason: "it lacks what the method needs"}
}

// bareDevice cannot factor matrices.
type bareDevice struct{ Device }

func (bareDevice) Info() Info { return Info{Name: "bare"} }

// TestMethods checks that the requested method is applied to the devices, and that
// these are closed if the method cannot use them.
func TestMethods(t *testing.T) {
	var closed []string
	drivers := []Driver{fakeDriver{"cpu", []Finding{{Name: "cpu", Host: true, Usable: true, Detail: "8 cores"}}, "", &closed}}
	backends, _ := testcheck.Get2(Dispatch(context.Background(), Request{Device: "cpu"}, drivers))(t)
	if c := backends[0].Capabilities(); c.Method != "dense" || !c.Exact || c.Precision != 1e-12 || len(c.Devices) != 1 || c.Devices[0].Info() != backends[0].Info() {
		t.Errorf("capabilities %+v", c)
	}
	for _, name := range []string{"cpu", "auto"} {
		closed = nil
		_, _, err := Dispatch(context.Background(), Request{Device: name, Method: "none"}, drivers, Dense{}, noMethod{})
		if !errors.As(err, new(*UnavailableError)) || !strings.Contains(err.Error(), "it lacks what the method needs") || len(closed) != 1 {
			t.Errorf("%s: error %v, closed %v", name, err, closed)
		}
	}
	if _, err := (Dense{}).Backends([]Device{bareDevice{}}); !errors.As(err, new(*UnavailableError)) {
		t.Errorf("the dense method on a device that does not factor: error %v", err)
	}
}

func TestPlan(t *testing.T) {
	p := MatrixPlan(1000, 3, "cuda:0", 50).With(Need{Bytes: 60, What: "points"}, Need{Bytes: 40, What: "vectors"})
	p.FlopRate = 1e9
	p.Middle, p.MiddleFlops = []Need{{"cuda:0", 7, "panels"}}, 1e9
	if p.GradientTime().Seconds() != 1 || (Plan{}).GradientTime() != 0 || p.FlopsValue != 1e9/3.0 {
		t.Errorf("time %v", p.GradientTime())
	}
	if m := p.withMiddle(); m.DeviceBytes() != 57 || m.HostBytes() != 100 || m.GradientTime().Seconds() != 2 || p.DeviceBytes() != 50 {
		t.Errorf("with a middle term %+v", m)
	}
	for _, c := range []struct {
		host, device int64
		where        string
	}{{0, 0, ""}, {100, 50, ""}, {99, 50, "host"}, {100, 49, "device"}, {0, 49, "device"}} {
		err := p.Check(Info{Name: "cuda:0", MemoryFree: c.device}, Info{Name: "cuda:1", MemoryFree: 1}, Info{Name: "cpu", Host: true, MemoryFree: c.host})
		var me *MemoryError
		if c.where == "" && err != nil || c.where != "" && (!errors.As(err, &me) || me.Where != c.where) {
			t.Errorf("free %d, %d: error %v, want %q", c.host, c.device, err, c.where)
		}
	}
	for want, err := range map[string]error{
		"n = 1000 needs 50 B of device memory (one 1000×1000 matrix of 8-byte numbers and working space), 49 B are free: use fewer rows or a machine with more memory": p.Check(Info{Name: "cuda:0", MemoryFree: 49}),
		"n = 1000 needs 100 B of host memory (points), 1 B are free: use fewer rows or a machine with more memory":                                                     p.Check(Info{Host: true, MemoryFree: 1}),
		"n = 1000: a covariance needs 2 B of host memory, 1 B are free":                                                                                                &MemoryError{Plan: p, Where: "host", Need: 2, Free: 1, What: "a covariance"},
		"n = 0 needs 2 B of device memory, 1 B are free: use fewer rows or a machine with more memory":                                                                 &MemoryError{Where: "device", Need: 2, Free: 1},
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
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
		`device "cuda:0" is not available: no driver`:    &UnavailableError{Device: "cuda:0", Reason: "no driver"},
		`the method "tiles" cannot provide joint draws`:  &UnsupportedError{"tiles", "joint draws"},
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

// bounded is a method with a bound that takes a share of the operations, and supports up to three columns.
type bounded struct{ structured }

func (bounded) About() About { return About{Name: "bounded", Bounded: true} }

func (b bounded) Backends(devices []Device) ([]Backend, error) {
	all, err := b.structured.Backends(devices)
	for i := range all {
		all[i] = boundedBackend{all[i].(structuredBackend), 0}
	}
	return all, err
}

type boundedBackend struct {
	structuredBackend
	tolerance float64
}

func (b boundedBackend) Capabilities() Capabilities {
	c := b.Backend.Capabilities()
	c.Method, c.Exact = "bounded", false
	return c
}

func (b boundedBackend) For(w Workload) Backend {
	b.tolerance = w.Tolerance
	return b
}

func (b boundedBackend) Supports(w Workload) error {
	if w.D > 3 {
		return &UnsupportedError{Method: "bounded", What: "four columns"}
	}
	return nil
}

// small is dense where no matrix of more than 9,999 rows has room.
type small struct{ Dense }

func (s small) Backends(devices []Device) ([]Backend, error) {
	all, err := s.Dense.Backends(devices)
	for i := range all {
		all[i] = smallBackend{all[i]}
	}
	return all, err
}

type smallBackend struct{ Backend }

func (b smallBackend) Info() Info {
	i := b.Backend.Info()
	i.MemoryFree = 1 << 20
	return i
}

func (b smallBackend) Plan(w Workload) Plan {
	p := b.Backend.Plan(w)
	if w.N > 9999 {
		p.Needs[0].Bytes = 1 << 21
	}
	return p
}

// TestChooseBounded checks that a method with a bound is chosen if the exact method does not fit in memory, or takes a minute at least
// and three times the operations; and that its backend knows the wanted bound.
func TestChooseBounded(t *testing.T) {
	prog := testcheck.Get(kernel.CompileText("rbf", 2))(t)
	known := Workload{D: 2, Points: &kernel.Points{}, Program: prog, Tolerance: 0.25}
	of := func(n int, change func(*Workload)) Workload {
		w := known
		w.N = n
		change(&w)
		return w
	}
	same := func(*Workload) {}
	third := math.Cbrt(1.0/3) * 0.999
	for _, c := range []struct {
		w     Workload
		share float64
		want  string
	}{
		{of(6600, same), 0.1, "dense"}, // 20·6600³ operations take less than a minute at 1e11 a second
		{of(6700, same), 0.1, "bounded"},
		{of(6700, same), third, "bounded"},
		{of(6700, same), 0.7, "dense"}, // 0.7³ of the operations
		{of(10000, same), 0.9, "bounded"},
		{of(10000, func(w *Workload) { w.D = 4 }), 0.1, "dense"},
		{of(10000, func(w *Workload) { w.Program = nil }), 0.1, "dense"},
		{of(10000, func(w *Workload) { w.Points = nil }), 0.1, "dense"},
	} {
		backends := testcheck.Get(backends(Chosen, []Method{small{}, bounded{structured{share: c.share}}}, []Device{fakeDevice{name: "cpu"}}, c.w))(t)
		if got := backends[0].Capabilities().Method; got != c.want {
			t.Errorf("%+v with share %v: %s, want %s", c.w, c.share, got, c.want)
		}
		if b, ok := backends[0].(boundedBackend); ok && b.tolerance != 0.25 {
			t.Errorf("the tolerance is %v", b.tolerance)
		}
	}
	// A job chooses again for each workload, and a named method stays.
	b := testcheck.Get(backends(Chosen, []Method{small{}, bounded{structured{share: 0.1}}}, []Device{fakeDevice{name: "cpu"}}, of(100, same)))(t)
	some := undecided(b, []Method{small{}, bounded{structured{share: 0.1}}}, of(100, same))
	if got := For(some[0], of(9000, same)); got.Capabilities().Method != "bounded" || got.(boundedBackend).tolerance != 0.25 {
		t.Errorf("of 9,000 rows: %+v", got)
	}
	if got := For(some[0], of(90, same)); got.Capabilities().Method != "dense" {
		t.Errorf("of 90 rows: %+v", got)
	}
	// Subsets of few rows are exact even if the method was named.
	named := testcheck.Get(backends("bounded", []Method{small{}, bounded{structured{share: 0.1}}}, []Device{fakeDevice{name: "cpu"}}, known))(t)
	for n, want := range map[int]string{2000: DenseName, 7000: "bounded"} {
		if got := Suiting(named[0], of(n, same)).Capabilities().Method; got != want {
			t.Errorf("%d rows by %s, want %s", n, got, want)
		}
	}
	// It is chosen where exact methods are, but only among those asked for.
	if _, err := backends(Chosen, []Method{small{}}, []Device{fakeDevice{name: "cpu"}}, of(20000, same)); err != nil {
		t.Error(err)
	}
}
