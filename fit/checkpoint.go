package fit

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"gpfit/device"
	"gpfit/hyperopt"
	"gpfit/internal/filelock"
)

// A checkpoint is a log of evaluations, not of the optimiser's state: one line
// for every value and gradient, appended when it is there. A fit that finds one
// runs as if from the beginning, but takes what was evaluated before from the
// log. It goes through the same numbers bit by bit, and so ends with the same
// bits, whatever the optimiser keeps in memory.
//
// The first line names the job. The others are
//
//	stream kind hash numbers… checksum
//
// with the stream, one descent of one stage, whose evaluations are in order;
// the kind (see record); a hash of the point; numbers as the 16 hexadecimal
// digits of their bits; and the CRC-32C of the line before it.
const checkpointHead = "gpfit-checkpoint 1 "

// syncInterval is how often the log is forced to the disk. A killed process
// loses nothing of what was appended, a failing machine at most this.
const syncInterval = time.Second

// record is one evaluation.
type record struct {
	kind byte
	// point is the hash of z.
	point uint64
	// numbers are f, and the gradient after it; or, where the covariance was not
	// positive definite, the order of the minor and n.
	numbers []float64
}

// The kinds of records.
const (
	valueRecord    = 'v'
	gradientRecord = 'g'
	notPDRecord    = 'p' // of a value
	notPDGradient  = 'q'
)

// journal is an open checkpoint. A nil journal records nothing.
type journal struct {
	path string
	mu   sync.Mutex
	file *os.File
	// past holds what was read, by stream, until it is taken.
	past   map[string][]record
	synced time.Time
	// named says that the file's name has been forced to the disk, finished that
	// nothing in it is needed any more.
	named, finished bool
}

// openJournal opens or begins the checkpoint of a job. Errors: [*OptionError]
// where the file is another job's or no checkpoint, [*DataError] where it is
// damaged.
func openJournal(path, job string) (j *journal, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, optionErrorf("--checkpoint %s: %v", path, err)
	}
	j = &journal{path: path, file: file, past: map[string][]record{}, synced: time.Now()}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	// Where the file system has no locks the checkpoint goes without.
	if errors.Is(filelock.Try(file, true, 0), filelock.ErrBusy) {
		return nil, optionErrorf("--checkpoint %s: another process is using it", path)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, optionErrorf("--checkpoint %s: is not a regular file", path)
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", path, err)
	}
	good, err := j.read(text, job)
	if err != nil {
		return nil, err
	}
	if err := file.Truncate(good); err != nil {
		return nil, err
	}
	if _, err := file.Seek(good, io.SeekStart); err != nil {
		return nil, err
	}
	if good == 0 {
		if _, err := io.WriteString(file, checkpointHead+job+"\n"); err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", path, err)
		}
	}
	return j, nil
}

// sync forces the log to the disk, and the first time its name too, where that
// can be had.
func (j *journal) sync() error {
	j.synced = time.Now()
	if err := j.file.Sync(); err != nil || j.named {
		return err
	}
	if d, err := os.Open(filepath.Dir(j.path)); err == nil {
		_ = d.Sync()
		d.Close()
	}
	j.named = true
	return nil
}

// read takes up the records of text and returns how many bytes of it are good:
// the rest is a line that was being written when the process ended.
func (j *journal) read(text []byte, job string) (good int64, err error) {
	want := checkpointHead + job + "\n"
	if len(text) < len(want) && strings.HasPrefix(want, string(text)) {
		return 0, nil
	}
	head, rest, found := strings.Cut(string(text), "\n")
	switch {
	case !found || !strings.HasPrefix(head, "gpfit-checkpoint "):
		return 0, optionErrorf("--checkpoint %s: exists and is not a checkpoint; choose another name", j.path)
	case !strings.HasPrefix(head, checkpointHead):
		return 0, optionErrorf("--checkpoint %s: written by another version of gpfit; delete it to begin anew", j.path)
	case head != strings.TrimSuffix(want, "\n"):
		return 0, optionErrorf("--checkpoint %s: belongs to another job: data or options differ; go on with the same ones, or choose another name or delete it to begin anew", j.path)
	}
	good = int64(len(head) + 1)
	for number := 2; rest != ""; number++ {
		line, after, whole := strings.Cut(rest, "\n")
		stream, r, ok := parseRecord(line)
		if !whole || !ok {
			// Torn off at the end is what a kill does; damage before whole
			// records is not.
			for next := range strings.Lines(after) {
				if _, _, ok := parseRecord(strings.TrimSuffix(next, "\n")); ok {
					return 0, &DataError{fmt.Sprintf("checkpoint %s is damaged at line %d; delete it to begin anew", j.path, number)}
				}
			}
			return good, nil
		}
		j.past[stream] = append(j.past[stream], r)
		good += int64(len(line) + 1)
		rest = after
	}
	return good, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func formatRecord(stream string, r record) []byte {
	line := fmt.Appendf(nil, "%s %c %016x", stream, r.kind, r.point)
	for _, v := range r.numbers {
		line = fmt.Appendf(line, " %016x", math.Float64bits(v))
	}
	return fmt.Appendf(line, " %08x\n", crc32.Checksum(line, castagnoli))
}

func parseRecord(line string) (stream string, r record, ok bool) {
	end := strings.LastIndexByte(line, ' ')
	if end < 0 {
		return "", r, false
	}
	sum, err := strconv.ParseUint(line[end+1:], 16, 32)
	fields := strings.Fields(line[:end])
	if err != nil || uint32(sum) != crc32.Checksum([]byte(line[:end]), castagnoli) || len(fields) < 4 || len(fields[1]) != 1 {
		return "", r, false
	}
	r.kind = fields[1][0]
	for i, field := range fields[2:] {
		bits, err := strconv.ParseUint(field, 16, 64)
		switch {
		case err != nil:
			return "", r, false
		case i == 0:
			r.point = bits
		default:
			r.numbers = append(r.numbers, math.Float64frombits(bits))
		}
	}
	return fields[0], r, true
}

// append adds a record to the log.
func (j *journal) append(stream string, r record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.Write(formatRecord(stream, r)); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if time.Since(j.synced) < syncInterval {
		return nil
	}
	return j.sync()
}

// take returns what was recorded of a stream, once.
func (j *journal) take(stream string) []record {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	past := j.past[stream]
	delete(j.past, stream)
	return past
}

// close forces the log to the disk, unless the fit is finished, and closes it. It
// may be called twice.
func (j *journal) close() error {
	if j == nil || j.file == nil {
		return nil
	}
	var err error
	if !j.finished {
		err = j.sync()
	}
	err = errors.Join(err, j.file.Close())
	j.file = nil
	return err
}

// remove closes and deletes it.
func (j *journal) remove() error {
	if j == nil {
		return nil
	}
	j.finished = true
	return errors.Join(os.Remove(j.path), j.close())
}

// recorder is the objective of one stream: from the log as far as that goes,
// then from obj, recording what it says. It counts either way.
type recorder struct {
	journal *journal
	stream  string
	obj     hyperopt.Objective
	past    []record
	done    int // records taken from past
	counts  *counter
}

// counter adds up the evaluations of streams that run side by side.
type counter struct {
	mu              sync.Mutex
	value, gradient int
}

func (c *counter) add(value, gradient int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.value += value
	c.gradient += gradient
}

func (j *journal) recorder(stream string, obj hyperopt.Objective, counts *counter) *recorder {
	return &recorder{journal: j, stream: stream, obj: obj, past: j.take(stream), counts: counts}
}

// Value implements [hyperopt.Objective].
func (r *recorder) Value(ctx context.Context, z []float64) (float64, error) {
	f, _, err := r.evaluate(z, valueRecord, notPDRecord, func() (float64, []float64, error) {
		f, err := r.obj.Value(ctx, z)
		return f, nil, err
	})
	r.counts.add(1, 0)
	return f, err
}

// ValueGradient implements [hyperopt.Objective]. It is a gradient after a value
// at the same z.
func (r *recorder) ValueGradient(ctx context.Context, z, grad []float64) (float64, error) {
	f, g, err := r.evaluate(z, gradientRecord, notPDGradient, func() (float64, []float64, error) {
		f, err := r.obj.ValueGradient(ctx, z, grad)
		return f, grad, err
	})
	r.counts.add(0, 1)
	copy(grad, g)
	return f, err
}

// evaluate takes the next record, or calls compute and records what it returns.
// Errors that end a run are not recorded.
func (r *recorder) evaluate(z []float64, kind, notPD byte, compute func() (float64, []float64, error)) (float64, []float64, error) {
	point := hashPoint(z)
	if r.done < len(r.past) {
		old := r.past[r.done]
		r.done++
		switch {
		case old.point == point && old.kind == kind && (kind == valueRecord) == (len(old.numbers) == 1):
			return old.numbers[0], old.numbers[1:], nil
		case old.point == point && old.kind == notPD && len(old.numbers) == 2:
			return 0, nil, &device.NotPDError{Minor: int(old.numbers[0]), N: int(old.numbers[1])}
		}
		return 0, nil, optionErrorf("--checkpoint %s: evaluation %d of %s is not the one that this fit asks for: it was written by another version of gpfit; delete it to begin anew",
			r.journal.path, r.done, r.stream)
	}
	f, g, err := compute()
	if r.journal == nil {
		return f, g, err
	}
	entry := record{kind: kind, point: point, numbers: append([]float64{f}, g...)}
	var npd *device.NotPDError
	switch {
	case errors.As(err, &npd):
		entry.kind, entry.numbers = notPD, []float64{float64(npd.Minor), float64(npd.N)}
	case err != nil:
		return f, g, err
	}
	if failure := r.journal.append(r.stream, entry); failure != nil {
		return 0, nil, failure
	}
	return f, g, err
}

// hashPoint returns the first 64 bits of the SHA-256 of z.
func hashPoint(z []float64) uint64 {
	b := make([]byte, 0, 8*len(z))
	for _, v := range z {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint64(sum[:])
}

// job is a hash of everything that a fit depends on: data, options, and what
// became of them in start values and bounds. The device is not among them: a
// fit may go on on another.
func (t *Task) job() string {
	h := sha256.New()
	w := bufio.NewWriter(h)
	opts := t.opts
	opts.Checkpoint, opts.DiscardCancelled = "", false
	for _, v := range []any{opts, t.data, t.program.Text, t.params} {
		hashValue(w, v)
	}
	w.Flush()
	return hex.EncodeToString(h.Sum(nil))
}

// RemoveCheckpoint deletes the checkpoint, if there is one. Call it when what is
// wanted of the outcome is written: until then a crash would lose the fit.
func (o *Outcome) RemoveCheckpoint() error { return o.journal.remove() }

// checkpointed adds to the error of a fit that can be gone on with how to.
func (t *Task) checkpointed(err error) error {
	var option *OptionError
	if err == nil || t.opts.Checkpoint == "" || errors.As(err, &option) {
		return err
	}
	return fmt.Errorf("%w\nthe same command goes on from the checkpoint %s", err, t.opts.Checkpoint)
}
