package batch

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/internal/testcheck"
)

// BenchmarkSmallJobs runs 200 jobs of 500 rows on two cores, one thread for each
// job. It reports the share of the workers' time that was spent within evaluations:
//
//	go test ./batch -run '^$' -bench SmallJobs -benchtime 1x -count 5
//
// Each fit has one start, which is the default, or two starts, which race.
func BenchmarkSmallJobs(b *testing.B) {
	for _, restarts := range []string{"0", "1"} {
		b.Run("restarts="+restarts, func(b *testing.B) { benchmarkSmallJobs(b, restarts) })
	}
}

func benchmarkSmallJobs(b *testing.B, restarts string) {
	drivers := []device.Driver{cpu.Driver{}}
	for range b.N {
		dir := b.TempDir()
		writeTable(b, filepath.Join(dir, "a.csv"), 500)
		seeds := strings.Join(testcheck.Slice(50, func(i int) string { return strconv.Itoa(i + 1) }), ", ")
		r := createIn(b, dir, "defaults: {device: cpu, threads: 1, restarts: "+restarts+"}\ndata: [a.csv]\nkernels: [rbf(ard), matern32(ard), matern52, rbf + matern12]\nseeds: ["+seeds+"]\n", drivers...)
		sum, err := Run(b.Context(), r, Options{Drivers: drivers, Cores: 2})
		if err != nil || sum.Here != 200 {
			b.Fatalf("%+v, %v", sum, err)
		}
		b.ReportMetric(100*sum.Utilization(), "%evaluating")
		b.ReportMetric(sum.Wall.Seconds(), "s")
		b.ReportMetric(float64(sum.Workers), "workers")
	}
}
