package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"gpfit/internal/must"
)

// BenchmarkPredictMemory predicts for tables of 8 columns with a model of 500 rows.
// rss-bytes is the peak resident memory of the process, which must not grow with the
// table. The benchmark also shows the peak of the fit, which draws 500 rows from the table.
func BenchmarkPredictMemory(b *testing.B) {
	if testing.Short() {
		b.Skip("builds gpfit and writes 200 MB")
	}
	dir := b.TempDir()
	gpfit := filepath.Join(dir, "gpfit")
	if out, err := exec.Command("go", "build", "-o", gpfit, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	peak := func(args ...string) float64 {
		cmd := exec.Command(gpfit, append(args, "--device", "cpu", "--quiet")...)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		return float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) * 1024
	}
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		path := filepath.Join(dir, "rows.csv")
		must.Do(b, writeUniform(path, n))
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			model, out := filepath.Join(dir, "m.gpfit"), filepath.Join(dir, "out.csv")
			fitted := peak("fit", path, "--subsample", "500", "--max-evals", "3", "--out", model)
			var predicted float64
			for b.Loop() {
				predicted = peak("predict", model, path, "--out", out)
			}
			info := must.Get(os.Stat(path))(b)
			b.SetBytes(info.Size())
			b.ReportMetric(float64(info.Size()), "file-bytes")
			b.ReportMetric(fitted, "fit-rss-bytes")
			b.ReportMetric(predicted, "rss-bytes")
		})
	}
}

// writeUniform writes n rows of 8 columns and a target: random numbers with up to 17
// digits.
func writeUniform(path string, n int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, "a,b,c,d,e,f,g,h,y")
	rng := rand.New(rand.NewPCG(1, 2))
	for range n {
		sum := 0.0
		for range 8 {
			v := rng.Float64()
			sum += v
			fmt.Fprint(w, v, ",")
		}
		fmt.Fprintln(w, sum)
	}
	return w.Flush()
}
