// Package outside is a program of another module that uses gpfit.
package outside

import (
	"context"
	"os"
	"testing"

	"gpfit"
	"gpfit/batch"
	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/devicetest"
	"gpfit/fit/dataset"
	"gpfit/kernel"
	"gpfit/table"
	"gpfit/table/formats"
)

var files = []table.Format{formats.Parquet(), formats.Arrow()}

func TestTable(t *testing.T) {
	ctx := context.Background()
	data, err := dataset.Read("sine.csv", nil, dataset.Options{Target: "y", Formats: files})
	if err != nil {
		t.Fatal(err)
	}
	if other, err := dataset.Read("real.parquet", nil, dataset.Options{Formats: files}); err != nil || other.D != 2 {
		t.Fatalf("%d columns of Parquet: %v", other.D, err)
	}
	model, err := gpfit.FitData(ctx, data, gpfit.Options{Mean: "zero", Kernel: "matern32"})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	in, err := dataset.OpenRows("sine.csv", nil, model.Posterior().Model(), dataset.RowOptions{Formats: files})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	rows, err := in.All()
	if err != nil {
		t.Fatal(err)
	}
	if p, err := model.Posterior().PredictNoise(ctx, rows.X, rows.N, rows.Noise); err != nil || len(p.Mean) != data.N {
		t.Errorf("predictions: %v", err)
	}
}

func TestBatch(t *testing.T) {
	ctx, drivers := context.Background(), []device.Driver{cpu.Driver{}}
	plan := func() (*batch.Manifest, []byte, error) {
		spec, text, err := batch.ReadSpec("spec.yaml")
		if err != nil {
			return nil, nil, err
		}
		m, err := batch.Plan(ctx, spec, batch.PlanOptions{SpecPath: "spec.yaml", SpecText: text, Drivers: drivers, Formats: files})
		return m, text, err
	}
	run, lock, err := batch.Create("sine.run", plan)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if _, err := batch.Run(ctx, run, batch.Options{Drivers: drivers, Formats: files}); err != nil {
		t.Fatal(err)
	}
	for _, job := range run.Jobs {
		status, err := run.Status(job)
		if err != nil || status.State != batch.StateDone || status.Record.Last().Report.N != 30 {
			t.Errorf("job %s: %s, %v", job.ID, status.State, err)
		}
		if _, err := os.Stat(run.Path("models", job.ID)); err != nil {
			t.Error(err)
		}
	}
}

func TestKernel(t *testing.T) {
	devicetest.RunKernel(t, &kernel.Family{
		Name:       "tent",
		Parameters: []kernel.Parameter{{Name: "width"}},
		Function: func(p *kernel.Pair) *kernel.Node {
			sum := p.Number(0)
			for _, difference := range p.Differences() {
				sum = p.Add(sum, p.Abs(difference))
			}
			return p.Exp(p.Neg(p.Div(sum, p.Parameter("width"))))
		},
	}, 1)
}
