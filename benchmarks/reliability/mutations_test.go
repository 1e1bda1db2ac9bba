//go:build linux

package reliability

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gpfit/internal/testcheck"
)

// A case changes one value of a file of gpfit and makes the checksums right, so that commands read it: the value becomes empty, one,
// many, null, its neighbour, very long, very large or nested 100,000 deep. TestMutations counts the cases in which a command panics, takes more than
// 100 MB and 20 times the file, runs for more than 5 seconds, or predicts otherwise from a model that 'gpfit check' finds whole.

// markers stand in a JSON text for what is too deep or too long to be made as a value.
var markers = map[string]string{`"DEEP"`: strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), `"MAPS"`: strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000), `"LONG"`: `"` + strings.Repeat("x", 1<<20) + `"`}

// variations returns what a value becomes.
func variations(v any) []any {
	out := []any{nil, "", []any{}, map[string]any{}, []any{v}, []any{v, v}, map[string]any{"a": v}, "DEEP", "MAPS", "LONG", 0.0, 1.0, -1.0, 0.5, 1e300, 1e-320, 9e18, true, "x", "1e999"}
	switch v := v.(type) {
	case float64:
		out = append(out, v*(1+1e-9), -v, v+1, v-1, v*1e6, fmt.Sprint(v))
	case string:
		out = append(out, v+v, v+" ", strings.ToUpper(v), "\x00", strings.Repeat(v, 1000), "../../"+v, "/dev/zero")
	case []any:
		out = append(out, v[:len(v)/2], slices.Repeat(v, 1+1000/(1+len(v))), append(slices.Clone(v), v...), slices.Repeat([]any{nil}, len(v)))
	}
	return out
}

// spot is a value within a tree of JSON: how to set it, and what else it becomes.
type spot struct {
	place string
	set   func(any)
	old   any
	news  []any
}

// spots returns all values within v.
func spots(v any, place string) (out []spot) {
	add := func(name string, old, neighbour any, set func(any)) {
		at := place + "." + name
		out = append(out, spot{at, set, old, append(variations(old), neighbour)})
		out = append(out, spots(old, at)...)
	}
	switch v := v.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		for k, key := range keys {
			add(key, v[key], v[keys[(k+1)%len(keys)]], func(to any) { v[key] = to })
		}
	case []any:
		for k := range v[:min(len(v), 4)] {
			add(strconv.Itoa(k), v[k], v[(k+1)%len(v)], func(to any) { v[k] = to })
		}
	}
	return out
}

// mutate changes a value of a JSON text that rng draws, and says what it did.
func mutate(t testing.TB, rng *rand.Rand, text []byte) (edited []byte, what string) {
	var v any
	testcheck.Do(t, json.Unmarshal(text, &v))
	all := spots(v, "")
	s := all[rng.IntN(len(all))]
	k := rng.IntN(len(s.news))
	s.set(s.news[k])
	edited = testcheck.Get(json.Marshal(v))(t)
	for marker, long := range markers {
		edited = bytes.ReplaceAll(edited, []byte(marker), []byte(long))
	}
	return edited, fmt.Sprintf("%s = %.60q", s.place, fmt.Sprint(s.news[k]))
}

// mutateModel changes a value of a header of a model, or a number of an array. The file has the right checksum. The seal is as it
// was, or, for one in four, missing, as in files of older programs.
func mutateModel(t testing.TB, rng *rand.Rand, file []byte) (edited []byte, what string) {
	var out bytes.Buffer
	z, w := testcheck.Get(zip.NewReader(bytes.NewReader(file), int64(len(file))))(t), zip.NewWriter(&out)
	testcheck.Do(t, w.SetComment("gpfit model sha256 "+strings.Repeat("0", 2*sha256.Size)))
	of, sealed := "model.json", rng.IntN(4) > 0
	if rng.IntN(4) == 0 {
		of = z.File[rng.IntN(len(z.File))].Name
	}
	for _, f := range z.File {
		text := testcheck.Get(io.ReadAll(testcheck.Get(f.Open())(t)))(t)
		switch {
		case f.Name == of && strings.HasSuffix(of, ".json"):
			text, what = mutate(t, rng, text)
		case f.Name == of && strings.HasSuffix(of, ".npy") && len(text) > 136:
			at := len(text) - 8 - 8*rng.IntN((len(text)-128)/8)
			old := math.Float64frombits(binary.LittleEndian.Uint64(text[at:]))
			v := []float64{math.NaN(), math.Inf(1), 0, -old, old * (1 + 1e-9), old + 1, 1e308, 5e-324}[rng.IntN(8)]
			binary.LittleEndian.PutUint64(text[at:], math.Float64bits(v))
			what = fmt.Sprintf("number %d from the end = %g", (len(text)-at)/8, v)
		}
		if f.Name == "seal.txt" && !sealed {
			continue
		}
		entry := testcheck.Get(w.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Store}))(t)
		testcheck.Get(entry.Write(text))(t)
	}
	testcheck.Do(t, w.Close())
	body := out.Bytes()[:out.Len()-2*sha256.Size]
	sum := sha256.Sum256(body)
	return append(slices.Clone(body), hex.EncodeToString(sum[:])...), fmt.Sprintf("%s: %s, sealed: %t", of, what, sealed)
}

// crc returns the checksum of a record or a line of a checkpoint.
func crc(text []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
}

// mutateSealed changes a value of a JSON object that has its CRC-32C as the last member.
func mutateSealed(t testing.TB, rng *rand.Rand, text []byte) ([]byte, string) {
	var v map[string]any
	testcheck.Do(t, json.Unmarshal(text, &v))
	delete(v, "crc32c")
	edited, what := mutate(t, rng, testcheck.Get(json.Marshal(v))(t))
	body := bytes.TrimSuffix(edited, []byte("}"))
	return fmt.Appendf(slices.Clone(body), `,"crc32c":"%s"}`+"\n", crc(body)), what
}

// mutateCheckpoint changes a field of a line of a checkpoint: the others of the line are as they were, and the checksum is right.
func mutateCheckpoint(_ testing.TB, rng *rand.Rand, text []byte) ([]byte, string) {
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	n := rng.IntN(len(lines))
	fields := strings.Fields(lines[n])
	if n > 0 {
		fields = fields[:len(fields)-1]
	}
	k := rng.IntN(len(fields))
	news := []string{"", "x", "v", "g", "h", "q", "7ff8000000000001", "fff0000000000000", "0000000000000001", "7fefffffffffffff", strings.Repeat("f", 17), strings.Repeat("a ", 100_000), strings.Repeat("x", 1<<20), fields[(k+1)%len(fields)], fields[k] + " " + fields[k], "\x00"}
	to := news[rng.IntN(len(news))]
	fields[k] = to
	line := strings.Join(fields, " ")
	if n > 0 {
		line += " " + crc([]byte(line))
	}
	lines[n] = line + "\n"
	return []byte(strings.Join(lines, "")), fmt.Sprintf("line %d, field %d = %.40q", n+1, k, to)
}

// subject is a kind of file with the ways to change it, and what is done with it. Each file name in a command is one of the folder.
type subject struct {
	name     string
	share    int // of a hundred cases
	file     string
	whole    []byte
	mutate   func(t testing.TB, rng *rand.Rand, text []byte) ([]byte, string)
	also     string // another file that gets the same text
	commands []string
	// predict is the command whose results must stay if check says that the file is whole.
	predict string
	stdin   bool
}

// ending is the end of a command.
type ending struct {
	Command string  `json:"command"`
	Code    int     `json:"code"`
	Seconds float64 `json:"seconds"`
	MB      float64 `json:"mb"`
	stdout  string
	stderr  string
}

// longest and mostMB bound a command: what a file costs above that is out of proportion.
const (
	longest = 5 * time.Second
	mostMB  = 100
)

// environment returns the variables for commands: none of gpfit, some of which are for the campaign.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GPFIT_") })
}

// end runs a command in a folder. Its memory is the largest.
func end(folder, program, line string, stdin []byte) ending {
	ctx, stop := context.WithTimeout(context.Background(), 2*longest)
	defer stop()
	cmd := exec.CommandContext(ctx, program, strings.Fields(line)...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Stdin = folder, &stdout, &stderr, bytes.NewReader(stdin)
	cmd.Env = environment()
	_ = cmd.Run() // the codes are counted
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	used := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	if ctx.Err() != nil {
		used = 2 * longest
	}
	return ending{line, cmd.ProcessState.ExitCode(), used.Seconds(), float64(usage.Maxrss) / 1024, stdout.String(), stderr.String()}
}

// faults returns what is wrong with the end of a command on a file of some bytes; own are the MB of the program.
func faults(e ending, bytes int, own float64) (out []string) {
	if strings.Contains(e.stderr, "goroutine ") || strings.Contains(e.stderr, "fault of gpfit") || strings.Contains(e.stdout, "fault of gpfit") {
		out = append(out, "panic")
	}
	if e.MB > own+mostMB+20*float64(bytes)/(1<<20) {
		out = append(out, "memory")
	}
	if e.Seconds > longest.Seconds() {
		out = append(out, "hang")
	}
	return out
}

// subjects makes a folder with a file of each kind.
func subjects(t testing.TB, folder, program string) (all []subject) {
	t.Helper()
	must := func(line string) {
		if e := end(folder, program, line, nil); e.Code != 0 {
			t.Fatalf("%s: exit code %d\n%s", line, e.Code, e.stderr)
		}
	}
	read := func(name string) []byte { return testcheck.Get(os.ReadFile(filepath.Join(folder, name)))(t) }
	rng := rand.New(rand.NewPCG(3, 4))
	var table, big, mask strings.Builder
	table.WriteString("x,z,g,v,y\n")
	mask.WriteString("a,b\n")
	big.WriteString("x,z,y\n")
	for i := range 300 {
		fmt.Fprintf(&big, "%d,%g,%g\n", i, rng.NormFloat64(), math.Sin(float64(i)/9)+0.1*rng.NormFloat64())
	}
	for i := range 24 {
		fmt.Fprintf(&table, "%d,%g,%s,%g,%g\n", i, rng.NormFloat64(), []string{"a", "b"}[i%2], 0.01+rng.Float64(), 3+rng.Float64())
		fmt.Fprintf(&mask, "%d,%d\n", (i%3)/2, i%2)
	}
	spec := `{"name": "every part", "defaults": {"target": "y", "features": ["x", "z"], "standardize": "xy", "restarts": 0, "max_evals": 3, "device": "cpu", "threads": 1, "memory": "4GiB", "retries": 1},
 "data": [{"name": "t", "path": "t.csv", "split_mask": "mask.csv", "splits": [0, 1]}], "kernels": ["rbf(ard)", {"name": "fixed", "kernel": "matern32", "ard": true, "fix": {"noise_variance": 0.001}},
 {"name": "rough", "kernel": "rbf + matern12", "bounds": {"noise_variance": [0.000001, 1]}}], "seeds": [1], "overrides": [{"match": {"kernel": ["rough"], "seed": [1]}, "set": {"k1.lengthscale": 0.5}, "max_evals": 4}],
 "exclude": [{"kernel": ["fixed"], "split": [0]}], "slurm": {"partition": "main", "time": "0:30:00", "tasks": 4}}`
	for name, text := range map[string]string{"t.csv": table.String(), "big.csv": big.String(), "mask.csv": mask.String(), "s.yaml": spec} {
		testcheck.Do(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	kinds := []string{
		"--kernel rbf(ard) --features x,z --target y --mean linear --save-factor", "--kernel matern32 --features x,z --target y --noise-group g", "--kernel rbf+periodic --features x --target y,z",
		"--kernel rbf --features x,g --target y --target-transform log", "--kernel rbf --features x --target y --noise-column v", "--kernel rbf --features x,z --target y --posterior laplace",
		"--kernel rbf --features x,z --target y --method experts --experts kmeans:2", "--kernel linear+constant --features x,z --target y --holdout 0.2",
	}
	for i, kind := range kinds {
		must("fit t.csv --max-evals 5 --quiet --force --out m.gpfit " + kind)
		s := subject{name: fmt.Sprint("model ", i+1), share: 6, file: "m.gpfit", whole: read("m.gpfit"), mutate: mutateModel, predict: "predict m.gpfit t.csv --quiet"}
		s.commands = []string{"inspect m.gpfit --json", "loo m.gpfit", "export m.gpfit --out - --format json", "report m.gpfit --out -", "update m.gpfit t.csv --out new.gpfit --force", "weights m.gpfit", "sample m.gpfit t.csv"}
		all = append(all, s)
	}
	must("compare t.csv --target y --features x,z --methods ridge --models . --holdout 0.2 --quiet")
	if found := testcheck.Get(filepath.Glob(filepath.Join(folder, "*.json")))(t); len(found) > 0 {
		all = append(all, subject{name: "regression", share: 4, file: filepath.Base(found[0]), whole: read(filepath.Base(found[0])), mutate: mutateRegression, predict: "predict " + filepath.Base(found[0]) + " t.csv --quiet", commands: []string{"inspect " + filepath.Base(found[0])}})
	}
	must("batch s.yaml --out r.run --quiet")
	jobs := testcheck.Get(os.ReadDir(filepath.Join(folder, "r.run", "jobs")))(t)
	job := filepath.Join("r.run", "jobs", jobs[0].Name())
	lastLine := func(t testing.TB, rng *rand.Rand, text []byte) ([]byte, string) {
		lines := bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
		n := rng.IntN(len(lines))
		edited, what := mutateSealed(t, rng, lines[n])
		lines[n] = edited
		return bytes.Join(lines, nil), fmt.Sprintf("line %d%s", n+1, what)
	}
	all = append(all,
		subject{name: "run.json", share: 14, file: "r.run/run.json", also: "r.run/run.copy.json", whole: read("r.run/run.json"), mutate: mutateSealed, commands: []string{"show r.run", "check r.run", "resume r.run --quiet", "report r.run --out -", "show r.run --format json"}},
		subject{name: "record", share: 12, file: job, whole: read(job), mutate: lastLine, commands: []string{"show r.run", "check r.run", "resume r.run --quiet", "report r.run --out -", "show r.run --format json"}},
		subject{name: "spec", share: 12, file: "s.yaml", whole: []byte(spec), mutate: mutate, commands: []string{"batch s.yaml --dry-run --quiet", "check s.yaml"}},
		subject{name: "frame", share: 4, file: "frame", whole: []byte(`{"id": 1, "command": ["predict", "m.gpfit", "t.csv"], "progress": true, "cancel": false}`), stdin: true, commands: []string{"serve"}, mutate: mutateFrame},
	)
	if journal := checkpointOf(t, folder, program); journal != nil {
		all = append(all, subject{name: "checkpoint", share: 8, file: "c.ckpt", whole: journal, mutate: mutateCheckpoint, commands: []string{"check c.ckpt", checkpointed}})
	}
	return all
}

// checkpointed is the fit with a checkpoint.
const checkpointed = "fit big.csv --target y --features x,z --kernel rbf(ard) --restarts 1 --max-evals 8 --quiet --force --checkpoint c.ckpt --out c.gpfit"

// checkpointOf returns the checkpoint of a fit that was killed, or nil if it ended too soon.
func checkpointOf(t testing.TB, folder, program string) []byte {
	for range 20 {
		cmd := exec.Command(program, strings.Fields(checkpointed)...)
		cmd.Dir, cmd.Env = folder, environment()
		testcheck.Do(t, cmd.Start())
		path := filepath.Join(folder, "c.ckpt")
		for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); time.Sleep(200 * time.Microsecond) {
			if info, err := os.Stat(path); err == nil && info.Size() > 300 {
				break
			}
		}
		text, _ := os.ReadFile(path)
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		os.Remove(path)
		if at := bytes.LastIndexByte(text, '\n'); at > 300 {
			return text[:at+1]
		}
	}
	return nil
}

// mutateRegression changes a value of the file of a simpler regression, whose checksum is right.
func mutateRegression(t testing.TB, rng *rand.Rand, text []byte) ([]byte, string) {
	var v map[string]any
	testcheck.Do(t, json.Unmarshal(text, &v))
	delete(v, "sha256")
	edited, what := mutate(t, rng, testcheck.Get(json.Marshal(v))(t))
	const kind = `,"type":"gpfit regression"` // by which commands know the file, at its beginning
	if bytes.Contains(edited, []byte(kind)) {
		edited = append([]byte("{"+kind[1:]+","), bytes.Replace(edited, []byte(kind), nil, 1)[1:]...)
	}
	body := bytes.TrimSuffix(edited, []byte("}"))
	sum := sha256.Sum256(body)
	return fmt.Appendf(slices.Clone(body), ",\n \"sha256\": \"%x\"\n}\n", sum), what
}

// mutateFrame changes a value of a request to serve, and frames it.
func mutateFrame(t testing.TB, rng *rand.Rand, text []byte) ([]byte, string) {
	edited, what := mutate(t, rng, text)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(edited))), edited...), what
}

// tried is a case with its commands, as the results have it.
type tried struct {
	Case   int      `json:"case"`
	Kind   string   `json:"kind"`
	What   string   `json:"what"`
	Ends   []ending `json:"ends"`
	Faults []string `json:"faults,omitempty"`
}

// differs reports whether two printed predictions differ in more than the last digits.
func differs(a, b string) bool {
	one, two := strings.FieldsFunc(a, separates), strings.FieldsFunc(b, separates)
	if len(one) != len(two) {
		return true
	}
	for i := range one {
		v, bad := strconv.ParseFloat(one[i], 64)
		w, worse := strconv.ParseFloat(two[i], 64)
		if bad != nil || worse != nil {
			if one[i] != two[i] {
				return true
			}
		} else if !(math.Abs(v-w) <= 1e-6*(1e-3+math.Abs(v))) {
			return true
		}
	}
	return false
}

func separates(r rune) bool { return r == ',' || r == '\n' }

// try performs a case in a folder of its own.
func try(t testing.TB, seed int, s subject, clean, folder, program, want string, own float64) tried {
	rng := rand.New(rand.NewPCG(uint64(seed), 7))
	edited, what := s.mutate(t, rng, s.whole)
	for _, name := range []string{s.file, s.also} {
		if name != "" {
			testcheck.Do(t, os.WriteFile(filepath.Join(folder, name), edited, 0o600))
		}
	}
	out := tried{Case: seed, Kind: s.name, What: what}
	run := func(line string) ending {
		var stdin []byte
		if s.stdin {
			stdin = edited
		}
		e := end(folder, program, line, stdin)
		out.Ends = append(out.Ends, e)
		for _, f := range faults(e, len(edited), own) {
			out.Faults = append(out.Faults, f+": "+line)
		}
		return e
	}
	if s.predict != "" {
		checked, predicted := run("check "+s.file), run(s.predict)
		sealed := strings.HasSuffix(what, "sealed: true") || s.name == "regression"
		if checked.Code == 0 && predicted.Code == 0 && sealed && differs(predicted.stdout, want) {
			out.Faults = append(out.Faults, "other predictions, and check finds nothing")
		}
	}
	run(s.commands[rng.IntN(len(s.commands))])
	for i := range out.Ends { // a child takes over the size of this process as its largest: keep little
		e := &out.Ends[i]
		e.stdout, e.stderr = "", strings.Clone(e.stderr[:min(len(e.stderr), 3000)])
		if len(out.Faults) == 0 {
			e.stderr = ""
		}
	}
	restore(t, clean, folder)
	return out
}

// restore makes a folder as it was.
func restore(t testing.TB, clean, folder string) {
	testcheck.Do(t, os.RemoveAll(folder))
	testcheck.Do(t, os.CopyFS(folder, os.DirFS(clean)))
}

// TestMutations runs the campaign: 20,000 cases in the long form, 150 else. With RELIABILITY_RESULTS it writes a line for each case with a fault, and one for each kind.
func TestMutations(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	top := t.TempDir()
	program, clean := filepath.Join(top, "gpfit"), filepath.Join(top, "clean")
	if out, err := exec.Command("go", "build", "-C", "../..", "-o", program, "./cmd/gpfit").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	testcheck.Do(t, os.Mkdir(clean, 0o700))
	all := subjects(t, clean, program)
	own := end(clean, program, "version", nil).MB
	want := map[string]string{}
	var drawn []subject
	for _, s := range all {
		if s.predict != "" {
			testcheck.Do(t, os.WriteFile(filepath.Join(clean, s.file), s.whole, 0o600))
			want[s.name] = end(clean, program, s.predict, nil).stdout
		}
		drawn = append(drawn, slices.Repeat([]subject{s}, s.share)...)
	}
	count, first := size(t, 150, 20_000), int(firstSeed(t))
	cases := make([]tried, count)
	var workers sync.WaitGroup
	var begun atomic.Int64
	for w := range runtime.NumCPU() {
		workers.Go(func() {
			folder := filepath.Join(top, fmt.Sprint("work", w))
			restore(t, clean, folder)
			for k := int(begun.Add(1)) - 1; k < count; k = int(begun.Add(1)) - 1 {
				s := drawn[rand.New(rand.NewPCG(uint64(first+k), 6)).IntN(len(drawn))]
				cases[k] = try(t, first+k, s, clean, folder, program, want[s.name], own)
			}
		})
	}
	workers.Wait()
	conclude(t, all, cases)
}

// conclude counts the cases, and writes them if the caller asks.
func conclude(t testing.TB, all []subject, cases []tried) {
	var results bytes.Buffer
	to := json.NewEncoder(&results)
	for _, s := range all {
		n, bad, codes, most, slowest := 0, 0, map[string]int{}, 0.0, 0.0
		for _, o := range cases {
			if o.Kind != s.name {
				continue
			}
			n++
			for _, e := range o.Ends {
				codes[fmt.Sprint(e.Code)]++
				most, slowest = max(most, e.MB), max(slowest, e.Seconds)
			}
			if len(o.Faults) > 0 {
				bad++
				text := ""
				for _, e := range o.Ends {
					text += e.Command + ": " + e.stderr + "\n"
				}
				t.Errorf("case %d, %s: %s: %s\n%.3000s", o.Case, o.Kind, o.What, strings.Join(o.Faults, "; "), text)
				testcheck.Do(t, to.Encode(o))
			}
		}
		line := map[string]any{"kind": s.name, "cases": n, "with_faults": bad, "exit_codes": codes, "most_mb": math.Round(most), "slowest_seconds": math.Round(100*slowest) / 100}
		testcheck.Do(t, to.Encode(line))
		t.Logf("%s: %d cases, %d with faults, exit codes %v, at most %.0f MB and %.2f s", s.name, n, bad, codes, most, slowest)
	}
	if path := os.Getenv("RELIABILITY_RESULTS"); path != "" {
		testcheck.Do(t, os.WriteFile(path, results.Bytes(), 0o644))
	}
}
