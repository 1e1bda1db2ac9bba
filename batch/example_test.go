package batch_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"strings"

	"gpfit/batch"
	"gpfit/cpu"
	"gpfit/device"
)

// Read a spec, plan its jobs in a run directory, and run the jobs that are not done.
// After a crash, OpenLocked and Run continue.
func Example() {
	folder, err := os.MkdirTemp("", "gpfit")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	var table strings.Builder
	table.WriteString("x,y\n")
	for i := range 30 {
		fmt.Fprintf(&table, "%d,%.3f\n", i, math.Sin(float64(i)/4))
	}
	if err := os.WriteFile(filepath.Join(folder, "sine.csv"), []byte(table.String()), 0o600); err != nil {
		log.Fatal(err)
	}
	text := []byte("data: [{name: sine, path: sine.csv}]\nkernels: [rbf, matern32]\n")

	ctx, drivers := context.Background(), []device.Driver{cpu.Driver{}} // gpfit.Drivers() includes GPUs
	plan := func() (*batch.Manifest, []byte, error) {
		s, err := batch.ParseSpec("sine.yaml", text)
		if err != nil {
			return nil, nil, err
		}
		m, err := batch.Plan(ctx, s, batch.PlanOptions{SpecPath: filepath.Join(folder, "sine.yaml"), SpecText: text, Program: "example", Drivers: drivers})
		return m, text, err
	}
	run, lock, err := batch.Create(filepath.Join(folder, "sine.run"), plan)
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Release()
	summary, err := batch.Run(ctx, run, batch.Options{Drivers: drivers, Cores: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(summary.Done, "of", summary.Total, "jobs done")
	for _, job := range run.Jobs {
		status, err := run.Status(job)
		if err != nil {
			log.Fatal(err)
		}
		report := status.Record.Last().Report
		fmt.Printf("%s %s, NLML %.0f\n", job.Kernel, status.State, report.NLML)
	}
	// Output:
	// 2 of 2 jobs done
	// rbf done, NLML -126
	// matern32 done, NLML -41
}
