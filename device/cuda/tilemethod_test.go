package cuda

import (
	"slices"
	"testing"

	"gpfit/device"
	"gpfit/device/cuda/emulator"
	"gpfit/internal/testcheck"
	"gpfit/method/tiles"
)

// tileEvaluation evaluates a job by the method tiles on some devices.
func (j *job) tileEvaluation(t *testing.T, order int, on ...device.Device) (out []float64) {
	t.Helper()
	ctx := t.Context()
	b := testcheck.Get(tiles.Method{Order: order}.Backends(on))(t)[0]
	ws := testcheck.Get(b.NewWorkspace(ctx, j.x))(t)
	defer func() { testcheck.Do(t, ws.Close()) }()
	alpha := slices.Clone(j.y)
	testcheck.Do(t, ws.Form(ctx, j.prog, j.theta, j.noise))
	testcheck.Do(t, ws.Solve(ctx, alpha, 1))
	logDet, _, err := ws.LogDet()
	testcheck.Do(t, err)
	mean, reduction := make([]float64, j.xs.N), make([]float64, j.xs.N)
	testcheck.Do(t, ws.Predict(ctx, j.prog, j.theta, alpha, j.xs, mean, reduction))
	grad, diag := make([]float64, len(j.theta)), make([]float64, j.x.N)
	testcheck.Do(t, ws.Contract(ctx, testAdjoint(alpha, j.y, nil), j.prog, j.theta, grad, diag))
	return slices.Concat([]float64{logDet}, alpha, mean, reduction, grad, diag)
}

// roomForTiles leaves a device memory for count tiles.
func roomForTiles(d *Device, j *job, order, count int) {
	tile, rest := d.TileSpace(j.x.N, j.x.D, order)
	index := d.gpu.info.Index
	emulator.SetMemory(index, emulator.Used(index)+(int64(count)*tile+rest)*100/97+200)
}

// TestTilesOnDevices evaluates on one to three devices, with room for all tiles and for few, on streams that work late: all
// results have the bits of one device.
func TestTilesOnDevices(t *testing.T) {
	if emulator.Rerun(t, emulator.Config{Devices: 3}) {
		return
	}
	emulator.Check(t)
	const order = 16
	j := newJob(t, 105)
	var on []*Device
	for i := range 3 {
		on = append(on, openBare(t, i))
	}
	want := j.tileEvaluation(t, order, on[0])
	wantNear(t, "tiles", slices.Delete(slices.Clone(want), 1+j.x.N, 1+j.x.N+j.xs.N), slices.Delete(j.dense(t, on[0]), 1+j.x.N, 1+j.x.N+len(j.many)))
	seeds := 2
	if testcheck.Long() {
		seeds = 10
	}
	for seed := range seeds {
		emulator.Order(t, seed) // the first one works at once
		for _, count := range []int{1, 2, 3} {
			whole := int64(0)                         // the bytes from and to the host with room for all tiles
			for _, room := range []int{1000, 12, 7} { // with 7, all tiles are on the host
				var devices []device.Device
				for _, d := range on[:count] {
					roomForTiles(d, j, order, room)
					devices = append(devices, d)
				}
				copied, peered := emulator.Copied(), emulator.Peered()
				got := j.tileEvaluation(t, order, devices...)
				copied, peered = emulator.Copied()-copied, emulator.Peered()-peered
				if !slices.Equal(got, want) {
					t.Errorf("order %d, %d devices with room for %d tiles: other results", seed, count, room)
				}
				if room == 1000 {
					whole = copied
				} else if copied < 3*whole/2 {
					t.Errorf("order %d, %d devices: %d bytes from and to the host with little room, %d with much", seed, count, copied, whole)
				}
				if (peered > 0) != (count > 1 && room > 7) {
					t.Errorf("order %d, %d devices: %d bytes between devices", seed, count, peered)
				}
			}
		}
	}
}
