package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/testcheck"
)

// faultCase is a command whose calls fail one after the other.
type faultCase struct {
	name string
	// prepare makes the inputs in the current folder of the command.
	prepare func(t *testing.T, dir string)
	args    string
	// again is the command that continues after a fault, or does all again. The command itself is the default.
	again func(dir string) string
	// outputs are the files that the command writes. They may hold what was there before, until it ends well.
	outputs []string
}

// faultFit has two starts, so that its checkpoint has two streams.
const faultFit = "fit data.csv --kernel rbf --restarts 1 --seed 3 --device cpu --threads 1 --quiet --force"

func faultCases() []faultCase {
	model := func(t *testing.T, dir string) {
		faultTable(t, dir)
		write(t, dir, "new.csv", "x,y\n20,1\n21,2\n22,1.5\n")
		inFolder(t, dir, faultFit+" --save-factor --out m.gpfit")
	}
	return []faultCase{
		{"fit", func(t *testing.T, dir string) {
			faultTable(t, dir)
			inFolder(t, dir, "fit data.csv --kernel matern12 --device cpu --quiet --out m.gpfit")
		}, faultFit + " --out m.gpfit --report page.html", nil, []string{"m.gpfit", "page.html"}},
		{"checkpoint", faultTable, faultFit + " --out m.gpfit --checkpoint ck", nil, []string{"m.gpfit"}},
		{"batch", faultStudy, "batch s.yaml --out r.run --cores 1 --quiet", continueStudy, nil},
		{"resume", func(t *testing.T, dir string) {
			faultStudy(t, dir)
			inFolder(t, dir, "batch s.yaml --out r.run --cores 1 --quiet")
			halfDone(t, filepath.Join(dir, "r.run"))
		}, "resume r.run --cores 1 --quiet", continueStudy, nil},
		{"update", model, "update m.gpfit new.csv --out u.gpfit --quiet --force", nil, []string{"u.gpfit"}},
		{"export", model, "export m.gpfit --out m.npz --force", nil, []string{"m.npz"}},
		{"report", model, "report m.gpfit --out m.html --force", nil, []string{"m.html"}},
		{"predict", model, "predict m.gpfit new.csv --out p.csv --plot p.svg --force", nil, []string{"p.csv", "p.svg"}},
	}
}

func faultStudy(t *testing.T, dir string) {
	faultTable(t, dir)
	write(t, dir, "s.yaml", "defaults: {threads: 1, device: cpu, restarts: 0}\ndata: [data.csv]\nkernels: [rbf, matern12]\n")
}

// halfDone takes the result of a job out of a run, as if the job had just begun.
func halfDone(t *testing.T, run string) {
	records := testcheck.Get(filepath.Glob(filepath.Join(run, "jobs", "*.jsonl")))(t)
	text := string(testcheck.Get(os.ReadFile(records[0]))(t))
	began, _, _ := strings.Cut(text, "\n")
	testcheck.Do(t, os.WriteFile(records[0], []byte(began+"\n"), 0o644))
	id := strings.TrimSuffix(filepath.Base(records[0]), ".jsonl")
	testcheck.Do(t, os.Remove(filepath.Join(run, "models", id+".gpfit")))
}

// continueStudy continues a run, or begins it if there is none yet.
func continueStudy(dir string) string {
	for _, name := range []string{"run.json", "run.copy.json"} {
		if _, err := os.Stat(filepath.Join(dir, "r.run", name)); err == nil {
			return "resume r.run --retry-failed --cores 1 --quiet"
		}
	}
	return "batch s.yaml --out r.run --cores 1 --quiet"
}

// changing are the numbers and times of events that differ from run to run.
var changing = regexp.MustCompile(`/(time|host|pid|created|crc32c|model_sha256|since|attempt|seconds|evaluation_seconds|model_file)$|/report/timings`)

// timesOfPage is the section of a page with the times of the fit.
var timesOfPage = regexp.MustCompile(`(?s)<h2>Time and device</h2>.*?</section>`)

// folderState returns the contents of all files of a folder, without times.
func folderState(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	testcheck.Do(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err == nil && !e.IsDir() && filepath.Ext(name) != ".log" { // a log may lack lines that could not be written
			out[name] = fileState(t, path)
		}
		return err
	}))
	return out
}

func fileState(t *testing.T, path string) string {
	text := string(testcheck.Get(os.ReadFile(path))(t))
	if text == "" {
		return ""
	}
	switch filepath.Ext(path) {
	case ".gpfit":
		if strings.HasPrefix(text, "PK") {
			return withoutRecord(t, path)
		}
	case ".html":
		return timesOfPage.ReplaceAllString(text, "TIME")
	case ".jsonl": // the last event counts
		lines := strings.Split(strings.TrimSpace(text), "\n")
		return fmt.Sprint(leaves(t, lines[len(lines)-1], changing))
	case ".json":
		return fmt.Sprint(leaves(t, text, changing))
	}
	if filepath.Base(path) == "lock" {
		return ""
	}
	return text
}

// calls are the names of calls that a fault hits.
func calls(names ...string) func(c *fileCall) bool {
	return func(c *fileCall) bool { return slices.Contains(names, c.name) }
}

// fault is a kind of fault. It hits the k-th call that matches.
type fault struct {
	name    string
	matches func(c *fileCall) bool
	verdict verdict
	// lasts means that all further calls that match have the fault.
	lasts bool
	// cheap marks the kinds that the short test has.
	cheap bool
}

var faultKinds = []fault{
	{name: "full disk", matches: fills, verdict: verdict{errno: unix.ENOSPC}, lasts: true, cheap: true},
	{name: "failed write", matches: calls("write", "writev", "ftruncate", "copy"), verdict: verdict{errno: unix.EIO}},
	{name: "short write", matches: calls("write"), verdict: verdict{short: true}},
	{name: "failed fsync", matches: calls("fsync"), verdict: verdict{errno: unix.EIO}, cheap: true},
	{name: "failed rename", matches: calls("rename"), verdict: verdict{errno: unix.EIO}, cheap: true},
	{name: "failed open", matches: calls("open"), verdict: verdict{errno: unix.EIO}},
	{name: "no descriptors", matches: calls("open"), verdict: verdict{errno: unix.EMFILE}},
	{name: "failed close", matches: calls("close"), verdict: verdict{errno: unix.EIO}},
	{name: "failed read", matches: calls("read", "readv", "getdents"), verdict: verdict{errno: unix.EIO}},
	{name: "short read", matches: calls("read"), verdict: verdict{short: true}},
	{name: "failed mkdir, unlink, chmod, seek", matches: calls("mkdir", "unlink", "fchmod", "lseek"), verdict: verdict{errno: unix.EIO}},
	{name: "failed stat", matches: calls("stat"), verdict: verdict{errno: unix.EIO}},
	{name: "no locks", matches: calls("flock"), verdict: verdict{errno: unix.ENOLCK}},
	{name: "kill", matches: func(*fileCall) bool { return true }, verdict: verdict{kill: true}, cheap: true},
}

// fills matches the calls that need space on a disk.
func fills(c *fileCall) bool {
	return c.created || calls("write", "writev", "copy", "mkdir")(c)
}

// faultRun is a prepared case.
type faultRun struct {
	faultCase
	initial string // a folder with the inputs
	before  map[string]string
	want    map[string]string
}

// TestFaults fails, shortens and kills one call after the other of eight commands, cuts the power at each
// change of the disk, and checks after each that nothing is lost or half-written, that the message names
// cause and file, and that the next run has the bits of an undisturbed one. With GPFIT_LONG it
// does so at every call, otherwise at a sample of them.
func TestFaults(t *testing.T) {
	t.Parallel()
	for i, c := range faultCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newFaultRun(t, c)
			total := 0
			for _, f := range faultKinds {
				switch {
				case testcheck.Long():
					total += r.each(t, f, 1)
				case f.cheap:
					total += r.each(t, f, 1+i%2)
				}
			}
			t.Logf("%s: %d faults", c.name, total)
			r.power(t)
		})
	}
}

// newFaultRun runs the command undisturbed.
func newFaultRun(t *testing.T, c faultCase) *faultRun {
	r := &faultRun{faultCase: c, initial: t.TempDir()}
	c.prepare(t, r.initial)
	r.before = folderState(t, r.initial)
	dir := r.place(t, r.initial)
	inFolder(t, dir, c.args)
	r.want = folderState(t, dir)
	return r
}

// workFolder is the folder of the command, the same for all runs of a case: a run knows its paths.
func (r *faultRun) workFolder() string { return filepath.Join(filepath.Dir(r.initial), "work") }

// place copies a folder to the folder of the command.
func (r *faultRun) place(t *testing.T, from string) string {
	t.Helper()
	dir := r.workFolder()
	testcheck.Do(t, os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(from)))
	return dir
}

// each hits one call after the other by a fault, from the first on, and returns their number. Without GPFIT_LONG it hits the first.
func (r *faultRun) each(t *testing.T, f fault, first int) (hits int) {
	for k := first; ; k++ {
		dir := r.place(t, r.initial)
		seen, hit := 0, []*fileCall{}
		trace := tracer{root: dir, before: func(c *fileCall) (v verdict) {
			if f.matches(c) {
				seen++
				if seen == k || f.lasts && seen > k {
					hit = append(hit, c)
					return f.verdict
				}
			}
			return v
		}}
		got := trace.runTraced(t, strings.Fields(r.args)...)
		if len(hit) == 0 {
			t.Logf("%-34s %4d calls", f.name, hits)
			return hits
		}
		hits++
		what := fmt.Sprintf("%s, call %d: %s %s", f.name, k, hit[0].name, strings.TrimPrefix(hit[0].path, dir+"/"))
		r.check(t, what, dir, got, f, hit)
		r.recover(t, what, dir, false)
		if !testcheck.Long() {
			return hits
		}
	}
}

// check checks the end of a command that met a fault.
func (r *faultRun) check(t *testing.T, what, dir string, got ended, f fault, hits []*fileCall) {
	t.Helper()
	complain := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s: %s\nexit code %d\n%s%s", what, fmt.Sprintf(format, args...), got.code, got.stdout, got.stderr)
	}
	if !slices.Contains([]int{0, exit.Failure, exit.Usage, exit.SomeFailed, exit.Data}, got.code) && !f.verdict.kill || strings.Contains(got.stderr, "goroutine ") {
		complain("the end")
	}
	now, hit := folderState(t, dir), hits[0]
	if got.code == 0 {
		if hit.name == "unlink" {
			delete(now, strings.TrimPrefix(hit.path, dir+"/"))
		}
		if d := cmp.Diff(r.want, now); d != "" {
			complain("other results: %s", brief(d))
		}
		return
	}
	for name, text := range r.before {
		if now[name] != text && !strings.HasPrefix(name, "r.run") && !(slices.Contains(r.outputs, name) && r.whole(t, dir, name, now[name])) {
			complain("%s has changed", name)
		}
	}
	for name, text := range now {
		_, old := r.before[name]
		if slices.Contains(r.outputs, name) && !old && !r.whole(t, dir, name, text) {
			complain("%s is half-written", name)
		}
		if temporaryFile(name) && !f.verdict.kill && hit.name != "unlink" {
			complain("%s is left", name)
		}
	}
	if f.verdict.kill {
		return
	}
	words := got.stderr + got.stdout
	if got.code == exit.SomeFailed {
		words += inFolder(t, dir, "show r.run --format csv")
	}
	if f.verdict.errno != 0 && !strings.Contains(words, f.verdict.errno.Error()) {
		complain("the message does not name the cause")
	}
	if !slices.ContainsFunc(hits, func(c *fileCall) bool {
		return strings.Contains(words, named(c.path)) || c.path == dir && strings.Contains(words, "stat .:")
	}) {
		complain("the message does not name the file")
	}
}

// whole reports whether an output is the command's result. A fit first writes its model, and then again with what is optional.
func (r *faultRun) whole(t *testing.T, dir, name, text string) bool {
	if text != r.want[name] && filepath.Ext(name) == ".gpfit" && text != "" {
		code, _, _ := end(t, commandIn(dir, "check "+name))
		return code == 0
	}
	return text == r.want[name]
}

// named returns the name of a file as messages have it. A temporary file has the name of its target.
func named(path string) string {
	name := filepath.Base(path)
	if at := strings.Index(name, ".tmp-gpfit"); at > 0 {
		name = strings.TrimPrefix(name[:at], ".")
	}
	return name
}

func temporaryFile(name string) bool { return strings.HasPrefix(filepath.Base(name), ".") }

// recover runs the command again, or the command that continues, and compares the results.
func (r *faultRun) recover(t *testing.T, what, dir string, damage bool) {
	t.Helper()
	line := r.args
	if r.again != nil {
		line = r.again(dir)
	}
	code, stdout, stderr := end(t, commandIn(dir, line))
	if code != 0 {
		t.Errorf("%s, then %s: exit code %d\n%s%s", what, line, code, stdout, stderr)
		return
	}
	now := folderState(t, dir)
	if damage { // a damaged file of a run stays under another name
		maps.DeleteFunc(now, func(name, _ string) bool { return strings.Contains(name, ".damaged") })
	}
	if d := cmp.Diff(r.want, now); d != "" {
		t.Errorf("%s, then %s: other results, undisturbed (-), now (+): %s\n%s", what, line, brief(d), stderr)
	}
}

// brief shortens a difference.
func brief(text string) string {
	if len(text) > 1500 {
		text = text[:1500] + " ..."
	}
	return text
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
