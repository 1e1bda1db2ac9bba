package results

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpfit/internal/testcheck"
)

// TestUses checks the time in which devices were busy, with jobs side by side, one after the other, and without an end.
func TestUses(t *testing.T) {
	job := func(device, from, to string) Row {
		return Row{Device: device, Host: "h", Began: "2026-01-02T03:04:" + from + "Z", Ended: "2026-01-02T03:04:" + to + "Z"}
	}
	jobs := []Row{
		job("cuda:0", "01", "03"), job("cuda:0", "09", "10.5"), job("cuda:0", "02", "04"), job("cuda:0", "02.5", "03"), job("cpu", "00", "20"),
		{Device: "cpu", State: "running", Host: "h"},
	}
	got := Uses(jobs)
	want := []DeviceUse{{"cpu", "h", 1, 20, 0.05}, {"cuda:0", "h", 4, 4.5, 4 / 4.5}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if text := overview(run(), jobs[4:5]); strings.Contains(text, "by device") {
		t.Errorf("one device: %q", text)
	}
	testcheck.Words(t, overview(run(), jobs), "jobs that are done, by device\n  device  host  jobs  busy seconds  jobs per second\n     cpu     h     1         20.00             0.05\n  cuda:0     h     4          4.50            0.889\n")
}
