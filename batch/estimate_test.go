package batch

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/batch/spec"
	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/cuda"
	"gpfit/fit/tuning"
	"gpfit/internal/testcheck"
)

// TestEstimates checks the estimates on the host and for GPUs that this machine does not
// have, and that a leave-one-out objective needs more.
func TestEstimates(t *testing.T) {
	drivers := []device.Driver{cuda.Driver{}, cpu.Driver{}}
	if _, err := device.Find(t.Context(), drivers).Choose("cuda"); err == nil {
		t.Skip("SKIPPED: this machine has a GPU")
	}
	r := create(t, `
defaults: {threads: 1}
data: [big.csv]
kernels:
  - {name: host, kernel: rbf, device: cpu}
  - {name: gpu, kernel: rbf, device: "cuda:1"}
  - {name: loo, kernel: rbf, device: cuda, objective: loo-rmse, restarts: 1}
`, drivers...)
	all, _, err := Estimates(t.Context(), r.Jobs, Options{Drivers: drivers})
	if err != nil || len(all) != 3 {
		t.Fatal(err)
	}
	host, gpu, loo := all[0], all[1], all[2]
	each := func(e Estimate) float64 { return (e.Seconds - tuning.Beginning(200).Seconds()) / e.Job.Evaluations }
	if host.Model != "" || host.DeviceBytes() != 0 || host.Seconds <= 0 {
		t.Errorf("host %+v", host)
	}
	if gpu.Model == "" || gpu.DeviceBytes() < 8*200*200 || gpu.Seconds <= 0 || gpu.FlopsGradient != 8e6 {
		t.Errorf("GPU %+v", gpu)
	}
	if loo.FlopsGradient != 2*gpu.FlopsGradient || loo.DeviceBytes() <= gpu.DeviceBytes() || each(loo) < 1.9*each(gpu) || loo.Job.Evaluations >= gpu.Job.Evaluations {
		t.Errorf("leave-one-out %+v", loo)
	}
}

// TestForecast checks that the plan of jobs with the device auto is for the devices that they are expected to take.
func TestForecast(t *testing.T) {
	drivers := []device.Driver{newGPUs(1, 1<<30), cpu.Driver{}}
	r := create(t, "defaults: {threads: 1}\ndata: [big.csv]\nkernels: [rbf]\nseeds: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]\n", drivers...)
	all, sum, err := Estimates(t.Context(), r.Jobs, Options{Drivers: drivers, Cores: 1, JobsPerDevice: 1})
	if err != nil || len(all) != 20 || sum.OnCores+sum.OnAccelerators != 20 || sum.OnCores == 0 || sum.OnAccelerators == 0 || sum.Cores != 1 || !(sum.Seconds > 0) {
		t.Fatalf("%+v, %v", sum, err)
	}
	on := map[string]int{}
	for _, e := range all {
		on[e.Device]++
		if onGPU := e.Device == "cuda:0"; (e.DeviceBytes() == 8*200*200) != onGPU || (e.HostBytes() >= 8*200*200) == onGPU || !(e.Seconds > 0) || *e.Job.Options.Device != "auto" {
			t.Errorf("%+v", e)
		}
	}
	if on["cpu"] != sum.OnCores || on["cuda:0"] != sum.OnAccelerators {
		t.Errorf("%v, %+v", on, sum)
	}
}

// TestMistakes checks that jobs which no data can cure fail at planning, once for each
// place in the spec.
func TestMistakes(t *testing.T) {
	const good = "x,w,y\n1,4,2\n2,1,3\n3,3,5\n4,5,4\n5,2,6\n6,6,7\n"
	for name, c := range map[string]struct {
		spec string
		want []string // places and messages, in order
	}{
		"split": {"data: [{path: a.csv, split_mask: m.csv, splits: [0, 7]}]\nkernels: [rbf]\n",
			[]string{`s.yaml:1:53: m.csv has no column "7"; there are one, two, or 0 to 1`}},
		"splits of all data": {"data: [{path: a.csv, split_mask: m.csv}]\nkernels: [rbf]\nsplits: [three]\n",
			[]string{`s.yaml:3:10: m.csv has no column "three"`}},
		"target": {"data: [{path: a.csv, target: z}]\nkernels: [rbf, matern32]\nseeds: [1, 2]\n",
			[]string{`s.yaml:1:22: job a.rbf.seed-1 cannot work: `, `no column named "z"`, "this concerns 4 jobs; no job has run"}},
		"feature": {"defaults: {features: [x, v]}\ndata: [a.csv]\nkernels: [rbf]\n", []string{`s.yaml:1:26: `, `no column named "v"`}},
		"group":   {"defaults: {holdout: 2}\ndata: [{path: a.csv, group: 9}]\nkernels: [rbf]\n", []string{`s.yaml:2:22: `, `column 9 is out of range`}},
		"option": {"data: [a.csv]\nkernels:\n  - {kernel: rbf, set: {lenghtscale: 1}}\n",
			[]string{`s.yaml:3:`, `set lenghtscale: there is no such parameter (did you mean "lengthscale"?)`}},
		"option of some kernels": {"defaults: {set: {period: 1}}\ndata: [a.csv]\nkernels: [rbf, periodic, matern32, {name: two, kernel: periodic}]\n",
			[]string{`s.yaml:1:`, `job a.rbf.seed-1 cannot work: set period: there is no such parameter`,
				"it suits the kernels periodic and two, but not the kernels rbf and matern32", "overrides with match: {kernel: [periodic, two]}", "this concerns 2 jobs; no job has run"}},
		"option of no kernel": {"defaults: {set: {perod: 1}}\ndata: [a.csv]\nkernels: [rbf, periodic]\n",
			[]string{`s.yaml:1:`, "there is no such parameter", "this concerns 2 jobs"}},
		"override": {"data: [a.csv]\nkernels: [rbf]\noverrides:\n  - {match: {data: [a]}, holdout: 6}\n",
			[]string{`s.yaml:4:26: `, `holdout 6: holds out all of the 6 rows`}},
		"kernel":     {"data: [a.csv]\nkernels: ['rbf(dims=5)']\n", []string{`s.yaml:2:`, "dims"}},
		"two places": {"data: [{path: a.csv, target: z}]\nkernels: [rbf]\noverrides:\n  - {match: {seed: [2]}, target: q}\nseeds: [1, 2]\n", []string{`s.yaml:1:22: `, `s.yaml:4:26: `}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := testcheck.Folder(t, map[string]string{"a.csv": good, "m.csv": "one,two\n0,1\n0,0\n1,0\n0,0\n0,0\n0,1\n"})
			s, warned := testcheck.Get(spec.Parse("s.yaml", []byte(c.spec)))(t), 0
			_, err := Plan(t.Context(), s, PlanOptions{
				SpecPath: filepath.Join(dir, "s.yaml"), SpecText: []byte(c.spec), Drivers: []device.Driver{cpu.Driver{}},
				OnWarning: func(string) { warned++ },
			})
			var place *spec.Error
			if !errors.As(err, &place) || warned > 0 {
				t.Fatalf("%v, %d warnings", err, warned)
			}
			text := err.Error()
			for _, want := range c.want {
				before, after, ok := strings.Cut(text, want)
				if !ok {
					t.Fatalf("no %q in %q of\n%v", want, before, err)
				}
				text = after
			}
			if n := strings.Count(err.Error(), "s.yaml:"); name != "two places" && n != 1 {
				t.Errorf("%d places:\n%v", n, err)
			}
		})
	}
}
