package results

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"gpfit/batch"
	"gpfit/device"
	"gpfit/fit/fields"
	"gpfit/internal/textform"
)

// WritePlan writes the expected memory, operations and time of the jobs of a batch and of all together, as
// a table for people or as JSON lines of the types "planned_job" and "planned_run".
func WritePlan(w io.Writer, asJSON bool, estimates []batch.Estimate, all batch.Forecast) error {
	if !asJSON {
		return writePlanTable(w, estimates, all)
	}
	for _, e := range estimates {
		if err := json.NewEncoder(w).Encode(map[string]any{
			"type": "planned_job", "schema_version": SchemaVersion, "job": e.Job.ID, "fingerprint": e.Job.Fingerprint,
			"n": e.Job.N, "d": e.Job.D, "device": e.Job.Options.Device, "expected_device": e.Device, "threads": e.Job.Options.Threads, "host_bytes": e.HostBytes(),
			"device_bytes": e.DeviceBytes(), "flops_gradient": e.FlopsGradient, "estimated_seconds": e.Seconds, "planned_for": e.Model,
		}); err != nil {
			return err
		}
	}
	return json.NewEncoder(w).Encode(map[string]any{
		"type": "planned_run", "schema_version": SchemaVersion, "jobs": len(estimates), "jobs_on_cores": all.OnCores,
		"jobs_on_accelerators": all.OnAccelerators, "cores": all.Cores, "estimated_seconds": all.Seconds,
	})
}

func writePlanTable(out io.Writer, estimates []batch.Estimate, all batch.Forecast) error {
	t := fields.Table{Heads: fields.Numbers("job", "n", "d", "device", "threads", "memory", "operations", "estimated time")}
	seconds, operations, biggest, model := 0.0, 0.0, int64(0), ""
	for _, e := range estimates {
		ops, bytes := e.Operations, e.HostBytes()+e.DeviceBytes()
		t.Add(e.Job.ID, fmt.Sprint(e.Job.N), fmt.Sprint(e.Job.D), placeOf(e), fmt.Sprint(*e.Job.Options.Threads), device.FormatBytes(bytes), fmt.Sprintf("%.2g", ops), duration(e.Seconds))
		seconds, operations, biggest, model = seconds+e.Seconds, operations+ops, max(biggest, bytes), cmp.Or(model, e.Model)
	}
	_, err := fmt.Fprintf(out, "%s\n%d jobs, %.2g operations, at most %s for one job, %s one after another\n",
		t.Text(), len(estimates), operations, device.FormatBytes(biggest), duration(seconds))
	if all.OnAccelerators > 0 {
		_, err = fmt.Fprintf(out, "side by side, %d jobs are expected on accelerators and %d on %s, %s in all\n",
			all.OnAccelerators, all.OnCores, textform.Counted(all.Cores, "core"), duration(all.Seconds))
	}
	if model != "" {
		_, err = fmt.Fprintf(out, "this machine has no device for some jobs: their plans are for one %s\n", model)
	}
	return err
}

// placeOf names the device of a job, and which device the job is expected to take if it may take several.
func placeOf(e batch.Estimate) string {
	name := *e.Job.Options.Device
	if name == device.Auto && e.Device != "" {
		return name + ": " + e.Device
	}
	return name
}

func duration(seconds float64) string {
	if seconds == 0 {
		return "-"
	}
	unit := 100 * time.Millisecond
	if seconds < 1 {
		unit = time.Millisecond
	}
	return time.Duration(seconds * float64(time.Second)).Round(unit).String()
}
