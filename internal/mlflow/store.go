// Package mlflow writes models, checkpoints and batches as runs of an MLflow file store,
// the folder that MLflow calls mlruns. [FromModel], [FromCheckpoint] and [FromBatch] make
// [TrackedRun]s, and [Store.Write] writes them in the layout of MLflow's class FileStore:
//
//	EXPERIMENT/meta.yaml
//	EXPERIMENT/RUN/meta.yaml, params/NAME, tags/NAME, metrics/NAME, artifacts/NAME
package mlflow

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"gpfit/internal/atomicfile"
)

// RunStatus is the state of a run, with MLflow's number.
type RunStatus int

// The states of MLflow.
const (
	Running   RunStatus = 1
	Scheduled RunStatus = 2
	Finished  RunStatus = 3
	Failed    RunStatus = 4
	Killed    RunStatus = 5
)

// TrackedRun is a run of an experiment.
type TrackedRun struct {
	// ID has 32 hexadecimal digits; see [RunID].
	ID, Name string
	Status   RunStatus
	// Start and End are zero if unknown.
	Start, End   time.Time
	Params, Tags map[string]string
	// Metrics holds the values of each metric in the order of their steps, 0, 1, ….
	Metrics map[string][]float64
	// Artifacts are files to copy.
	Artifacts []string
}

// RunID returns the ID of the run that parts name, so that a second export of the same
// thing replaces the first.
func RunID(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// Error reports a folder or a file that cannot be used.
type Error struct{ Path, Msg string }

func (e *Error) Error() string { return e.Path + ": " + e.Msg }

// Store is the folder of a file store.
type Store struct{ Dir string }

// experiment is the content of an experiment's meta.yaml that this package reads and
// writes. MLflow accepts it without its later members.
type experiment struct {
	ArtifactLocation string `yaml:"artifact_location"`
	CreationTime     int64  `yaml:"creation_time"`
	ID               string `yaml:"experiment_id"`
	LastUpdateTime   int64  `yaml:"last_update_time"`
	LifecycleStage   string `yaml:"lifecycle_stage"`
	Name             string `yaml:"name"`
}

// meta is the content of a run's meta.yaml.
type meta struct {
	ArtifactURI    string    `yaml:"artifact_uri"`
	EndTime        *int64    `yaml:"end_time"`
	EntryPointName string    `yaml:"entry_point_name"`
	ExperimentID   string    `yaml:"experiment_id"`
	LifecycleStage string    `yaml:"lifecycle_stage"`
	RunID          string    `yaml:"run_id"`
	RunName        string    `yaml:"run_name"`
	SourceName     string    `yaml:"source_name"`
	SourceType     int       `yaml:"source_type"`
	SourceVersion  string    `yaml:"source_version"`
	StartTime      *int64    `yaml:"start_time"`
	Status         RunStatus `yaml:"status"`
	Tags           []string  `yaml:"tags"`
	UserID         string    `yaml:"user_id"`
}

// Write writes runs into the experiment called name. It makes the store and the experiment
// if they do not exist. A run with the ID of an existing one replaces it whole, and keeps
// tags that the new one does not have, such as notes. Other runs stay as they are.
// Errors: [*Error], those of the system.
func (s Store) Write(ctx context.Context, name string, runs []TrackedRun) error {
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return err
	}
	s.Dir = dir
	experiments, err := s.experiments()
	if err != nil {
		return err
	}
	if err := s.ensure(experiments, experiment{ID: "0", Name: "Default"}); err != nil {
		return err
	}
	id, found := experiments[name]
	if !found {
		id = experimentID(name)
		if err := s.ensure(experiments, experiment{ID: id, Name: name}); err != nil {
			return err
		}
	}
	for i := range runs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.replace(ctx, id, &runs[i]); err != nil {
			return err
		}
	}
	return nil
}

// experimentID returns 18 digits, as MLflow's own IDs have.
func experimentID(name string) string {
	const least, count = 100_000_000_000_000_000, 900_000_000_000_000_000
	sum := sha256.Sum256([]byte(name))
	return strconv.FormatUint(least+binary.BigEndian.Uint64(sum[:])%count, 10)
}

// experiments returns the IDs of the experiments of the store by name. A folder that has
// other files and no experiment is an error.
func (s Store) experiments() (map[string]string, error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(s.Dir, entry.Name(), "meta.yaml"))
		if err != nil {
			continue // .trash, models
		}
		var e experiment
		if yaml.Unmarshal(text, &e) == nil && e.ID == entry.Name() && e.LifecycleStage == "active" {
			found[e.Name] = e.ID
		}
	}
	if len(found) == 0 && len(entries) > 0 {
		return nil, &Error{Path: s.Dir, Msg: "has files and is not an MLflow file store; choose a new folder"}
	}
	return found, nil
}

// ensure makes an experiment unless one of its name exists.
func (s Store) ensure(existing map[string]string, e experiment) error {
	if _, found := existing[e.Name]; found {
		return nil
	}
	dir := filepath.Join(s.Dir, e.ID)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	now := time.Now().UnixMilli()
	e.ArtifactLocation, e.CreationTime, e.LastUpdateTime, e.LifecycleStage = fileURI(dir), now, now, "active"
	return writeYAML(filepath.Join(dir, "meta.yaml"), e)
}

// replace writes a run beside its place and then moves it there.
func (s Store) replace(ctx context.Context, experiment string, r *TrackedRun) (err error) {
	place := filepath.Join(s.Dir, experiment, r.ID)
	temporary, err := os.MkdirTemp(s.Dir, ".gpfit-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	fresh := filepath.Join(temporary, "new")
	if err := r.write(ctx, fresh, experiment, place, earlierTags(place)); err != nil {
		return err
	}
	if err := os.Rename(place, filepath.Join(temporary, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(fresh, place)
}

// earlierTags returns the tags of a run that may exist.
func earlierTags(run string) map[string]string {
	tags := map[string]string{}
	dir := filepath.Join(run, "tags")
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil // without tags there is nothing to keep
		}
		if text, err := os.ReadFile(path); err == nil {
			if name, err := filepath.Rel(dir, path); err == nil {
				tags[filepath.ToSlash(name)] = string(text)
			}
		}
		return nil
	})
	return tags
}

// write writes the run to dir; place is the folder where it will be.
func (r *TrackedRun) write(ctx context.Context, dir, experiment, place string, tags map[string]string) error {
	maps.Copy(tags, r.Tags)
	tags["mlflow.runName"] = r.Name
	for _, folder := range []string{"params", "tags", "metrics", "artifacts"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o777); err != nil {
			return err
		}
	}
	for name, value := range r.Params {
		if err := writeEntry(dir, "params", name, []byte(shorten(value, longestParam))); err != nil {
			return err
		}
	}
	for name, value := range tags {
		if err := writeEntry(dir, "tags", name, []byte(shorten(value, longestTag))); err != nil {
			return err
		}
	}
	for name, values := range r.Metrics {
		if err := writeEntry(dir, "metrics", name, r.points(values)); err != nil {
			return err
		}
	}
	for _, path := range r.Artifacts {
		if err := copyFile(ctx, filepath.Join(dir, "artifacts", filepath.Base(path)), path); err != nil {
			return err
		}
	}
	return writeYAML(filepath.Join(dir, "meta.yaml"), meta{
		ArtifactURI: fileURI(filepath.Join(place, "artifacts")), StartTime: millis(r.Start), EndTime: millis(r.End),
		ExperimentID: experiment, LifecycleStage: "active", RunID: r.ID, RunName: r.Name, SourceType: localSource, Status: r.Status, Tags: []string{},
		UserID: "gpfit",
	})
}

// Limits of MLflow (mlflow/utils/validation.py), and its number for a local source.
const (
	longestParam = 6000
	longestTag   = 8000
	localSource  = 4
)

// points returns the lines of a metric: time, value, step.
func (r *TrackedRun) points(values []float64) []byte {
	var b bytes.Buffer
	at := r.End
	if at.IsZero() {
		at = r.Start
	}
	for step, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			fmt.Fprintf(&b, "%d %s %d\n", max(at.UnixMilli(), 0), strconv.FormatFloat(v, 'g', -1, 64), step)
		}
	}
	return b.Bytes()
}

// writeEntry writes the file of a param, tag or metric. An empty metric has none.
func writeEntry(dir, kind, name string, text []byte) error {
	if kind == "metrics" && len(text) == 0 {
		return nil
	}
	path := filepath.Join(dir, kind, filepath.FromSlash(entryName(name)))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o666)
}

// entryName returns a name with the characters that MLflow allows: "lengthscale[0]"
// becomes "lengthscale.0".
func entryName(name string) string {
	name = strings.ReplaceAll(strings.TrimSuffix(name, "]"), "[", ".")
	return strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.ContainsRune("_-./ ", c):
			return c
		}
		return '_'
	}, name)
}

func shorten(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

func copyFile(ctx context.Context, to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return atomicfile.Write(ctx, to, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}

func writeYAML(path string, value any) error {
	// MLflow reads strings of digits as numbers unless they are quoted.
	text, err := yaml.MarshalWithOptions(value, yaml.UseSingleQuote(true))
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o666)
}

// fileURI returns the URI of an absolute path.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a Windows drive
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

func millis(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	ms := t.UnixMilli()
	return &ms
}
