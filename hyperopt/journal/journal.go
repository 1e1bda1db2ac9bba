// Package journal records evaluations in a file and replays them: so an interrupted run continues.
//
// A journal is a log of evaluations, not of an optimizer's state: the run appends
// one line for every value and gradient. A run that finds a journal starts from the
// beginning but takes earlier evaluations from the log. It computes the same
// numbers bit by bit and therefore ends with the same bits, for any optimizer.
//
// The first line names the job. The other lines have the form
//
//	stream kind hash numbers… checksum
//
// where stream is one descent of one stage, whose evaluations are in order, hash is
// a hash of the point, numbers are the 16 hexadecimal digits of their bits, and
// checksum is the CRC-32C of the preceding part of the line.
//
// Start with [Open]. A nil [Journal] and a nil [Sequence] record nothing.
package journal

import (
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

	"gpfit/internal/atomicfile"
	"gpfit/internal/filelock"
	"gpfit/internal/userfile"
)

// Intervals at which the log is written to the file and flushed to disk. A killed process loses
// at most the evaluations of one writeInterval, and a machine failure at most the evaluations of
// one syncInterval. An evaluation that takes longer than an interval is safe at once.
const (
	writeInterval = 50 * time.Millisecond
	syncInterval  = time.Second
)

// mostLost bounds the bytes of a file that has nothing but zeros. A larger one is not taken for a journal.
const mostLost = 1 << 20

// Error reports a file that cannot be the journal of a job.
type Error struct {
	Path string
	// Damaged means that the contents differ from what was written.
	Damaged bool
	Msg     string
	// Err is the error of the system where the file cannot be opened, read or written, and
	// nil where its contents are wrong.
	Err error
}

func (e *Error) Error() string { return e.Path + ": " + e.Msg }

// Unwrap returns the error of the system.
func (e *Error) Unwrap() error { return e.Err }

// systemError returns the [*Error] for a system call that failed.
func systemError(path string, err error) *Error {
	doing, cause := "use", err
	if call, ok := errors.AsType[*os.PathError](err); ok {
		doing, cause = call.Op, call.Err
	}
	return &Error{Path: path, Msg: fmt.Sprintf("cannot %s the checkpoint: %v", doing, cause), Err: err}
}

// Failures converts errors of points where an objective is not defined to numbers
// and back, so that they can be recorded.
type Failures struct {
	// Numbers returns the numbers of err, or nil if it is another kind of error.
	Numbers func(err error) []float64
	// Error is the inverse of Numbers.
	Error func(numbers []float64) error
}

// Journal is an open file of evaluations. It is safe for concurrent use.
type Journal struct {
	path     string
	failures Failures
	mu       sync.Mutex
	file     *os.File
	// past holds the records read, by stream, until they are used.
	past map[string][]record
	// buffer holds the records that are not in the file yet.
	buffer          []byte
	written, synced time.Time
	// whole, if not nil, is the journal whose sequences have names that begin with prefix.
	whole  *Journal
	prefix string
	// named means that the file's name has been flushed to disk, finished that its
	// contents are no longer needed.
	named, finished bool
}

// Open opens or creates the journal of a job, which a word names. The error is an [*Error] if the
// file belongs to another job, is in use, is damaged or is not a journal.
func Open(path, job string, failures Failures) (j *Journal, err error) {
	file, err := userfile.Open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, systemError(path, err)
	}
	j = &Journal{path: path, failures: failures, file: file, past: map[string][]record{}, written: time.Now(), synced: time.Now()}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	// If the file system has no locks, the journal is not locked.
	if errors.Is(filelock.Try(file, true, 0), filelock.ErrBusy) {
		return nil, &Error{Path: path, Msg: "another process is using it"}
	}
	info, err := file.Stat()
	if err != nil {
		return nil, systemError(path, err)
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, systemError(path, err)
	}
	good, err := j.read(string(text), head+job+"\n")
	if err != nil {
		return nil, err
	}
	if good < info.Size() {
		if err := file.Truncate(good); err != nil {
			return nil, systemError(path, err)
		}
		if _, err := file.Seek(good, io.SeekStart); err != nil {
			return nil, systemError(path, err)
		}
	}
	if good == 0 {
		j.buffer = append(j.buffer, head+job+"\n"...)
	}
	return j, nil
}

// read stores the records of text, whose first line should be want, and returns the number of valid
// bytes. The rest is a line that was incomplete when the process ended.
func (j *Journal) read(text, want string) (good int64, err error) {
	// A failure of the machine leaves zeros for the bytes that were not on the disk yet.
	if begun := strings.TrimRight(text, "\x00"); len(text) <= mostLost && len(begun) < len(want) && strings.HasPrefix(want, begun) {
		return 0, nil
	}
	first, rest, found := strings.Cut(text, "\n")
	switch {
	case !found || !strings.HasPrefix(first, anyHead):
		return 0, &Error{Path: j.path, Msg: "exists and is not a checkpoint; choose another name"}
	case !strings.HasPrefix(first, head):
		return 0, &Error{Path: j.path, Msg: "written by another version of gpfit; delete it to start over"}
	case first != strings.TrimSuffix(want, "\n"):
		return 0, &Error{Path: j.path, Msg: "belongs to another job: data or options differ; use the same data and options, choose another name, or delete it to start over"}
	}
	good = int64(len(first) + 1)
	for number := 2; rest != ""; number++ {
		line, after, whole := strings.Cut(rest, "\n")
		stream, r, ok := parseRecord(line)
		if !whole || !ok {
			// A kill can truncate the last line but cannot damage a line before complete records.
			for next := range strings.Lines(after) {
				if _, _, ok := parseRecord(strings.TrimSuffix(next, "\n")); ok {
					return 0, &Error{Path: j.path, Damaged: true, Msg: fmt.Sprintf("is damaged at line %d; delete it to start over", number)}
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

// append adds a record to the log.
func (j *Journal) append(stream string, r record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.buffer = appendRecord(j.buffer, stream, r)
	now := time.Now()
	switch {
	case now.Sub(j.synced) >= syncInterval:
		return j.sync()
	case now.Sub(j.written) >= writeInterval:
		return j.write()
	}
	return nil
}

// write writes the buffered records to the file.
func (j *Journal) write() error {
	j.written = time.Now()
	if len(j.buffer) == 0 {
		return nil
	}
	_, err := j.file.Write(j.buffer)
	j.buffer = j.buffer[:0]
	if err != nil {
		return systemError(j.path, err)
	}
	return nil
}

// sync flushes the log to disk, and the first time also its name, on systems that support this.
func (j *Journal) sync() error {
	if err := j.write(); err != nil {
		return err
	}
	j.synced = time.Now()
	if err := j.file.Sync(); err != nil {
		return systemError(j.path, err)
	}
	if j.named {
		return nil
	}
	atomicfile.SyncFolder(filepath.Dir(j.path))
	j.named = true
	return nil
}

// Sequence returns the stream with the given name and its recorded evaluations. A
// second call with the same name returns a stream without records.
func (j *Journal) Sequence(name string) *Sequence {
	if j == nil {
		return nil
	}
	if j.whole != nil {
		return j.whole.Sequence(j.prefix + name)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	past := j.past[name]
	delete(j.past, name)
	return &Sequence{journal: j, name: name, past: past}
}

// Part returns a view of the journal in which the names of sequences begin with prefix. It has
// only sequences: finish, close and remove the whole journal.
func (j *Journal) Part(prefix string) *Journal {
	if j == nil {
		return nil
	}
	return &Journal{whole: j, prefix: prefix}
}

// Finish marks the run as complete, so that Close need not wait for the disk. Only
// a machine failure before the result is written would still need the journal.
func (j *Journal) Finish() {
	if j != nil {
		j.finished = true
	}
}

// Close flushes the log to disk, unless the run is finished, and closes it. It may be called twice.
func (j *Journal) Close() error {
	if j == nil || j.file == nil {
		return nil
	}
	finish := j.sync
	if j.finished {
		finish = j.write
	}
	err := errors.Join(finish(), j.file.Close())
	j.file = nil
	return err
}

// Remove closes and deletes the journal.
func (j *Journal) Remove() error {
	if j == nil {
		return nil
	}
	j.finished, j.buffer = true, nil
	return errors.Join(os.Remove(j.path), j.Close())
}

// Sequence is a stream of a journal, a sequence of evaluations in order.
type Sequence struct {
	journal *Journal
	name    string
	past    []record
	done    int // records replayed
}

// Replay returns the next recorded evaluation and writes its gradient, unless grad
// is nil, to grad. found is false if no record is left. err is the recorded error,
// or an [*Error] if the record is not of this kind of evaluation at z.
func (s *Sequence) Replay(z, grad []float64) (f float64, found bool, err error) {
	r, found := s.next()
	if !found {
		return 0, false, nil
	}
	kind, failed := byte(valueRecord), byte(failedValue)
	if grad != nil {
		kind, failed = gradientRecord, failedGradient
	}
	switch same := r.point == hashPoint(z); {
	case same && r.kind == kind && len(r.numbers) == numbersOfValue+len(grad):
		copy(grad, r.numbers[numbersOfValue:])
		return r.numbers[0], true, nil
	case same && r.kind == failed:
		if err := s.journal.failures.Error(r.numbers); err != nil {
			return 0, true, err
		}
	}
	return 0, true, s.mismatch()
}

// Record appends an evaluation at z: its value, its gradient unless that is nil, or its error.
// It does not record errors that the journal's Failures cannot convert, because they end a run.
func (s *Sequence) Record(z []float64, f float64, grad []float64, failure error) error {
	if s == nil {
		return nil
	}
	r := record{kind: valueRecord, point: hashPoint(z), numbers: append([]float64{f}, grad...)}
	if grad != nil {
		r.kind = gradientRecord
	}
	if failure != nil {
		if r.numbers = s.journal.failures.Numbers(failure); r.numbers == nil {
			return nil
		}
		if r.kind = failedValue; grad != nil {
			r.kind = failedGradient
		}
	}
	return s.journal.append(s.name, r)
}

// ReplayMatrix writes the next record, if one is left, to h, which was computed at z.
func (s *Sequence) ReplayMatrix(z, h []float64) (found bool, err error) {
	r, found := s.next()
	if !found {
		return false, nil
	}
	if r.kind != matrixRecord || r.point != hashPoint(z) || len(r.numbers) != len(h) {
		return true, s.mismatch()
	}
	copy(h, r.numbers)
	return true, nil
}

// RecordMatrix appends a matrix that was computed at z.
func (s *Sequence) RecordMatrix(z, h []float64) error {
	if s == nil {
		return nil
	}
	return s.journal.append(s.name, record{kind: matrixRecord, point: hashPoint(z), numbers: h})
}

// next returns the next record that is left.
func (s *Sequence) next() (r record, found bool) {
	if s == nil || s.done >= len(s.past) {
		return r, false
	}
	s.done++
	return s.past[s.done-1], true
}

// mismatch is the error of a record that does not belong to the fit.
func (s *Sequence) mismatch() error {
	return &Error{Path: s.journal.path, Msg: fmt.Sprintf("evaluation %d of %s does not match this fit: another version of gpfit wrote it; delete it to start over", s.done, s.name)}
}

// Every checkpoint begins with anyHead, and one of the version that gpfit writes with head.
const (
	anyHead = "gpfit-checkpoint "
	head    = anyHead + "2 "
)

// record is one evaluation.
type record struct {
	kind byte
	// point is the hash of z.
	point uint64
	// numbers are f and then the gradient, or the numbers of an error; see Failures.
	numbers []float64
}

// The kinds of records.
const (
	valueRecord     = 'v'
	gradientRecord  = 'g'
	matrixRecord    = 'h'
	failedValue     = 'p'
	failedGradient  = 'q'
	numbersOfValue  = 1
	leastFieldCount = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendRecord appends the line of a record to text.
func appendRecord(text []byte, stream string, r record) []byte {
	begin := len(text)
	text = append(append(text, stream...), ' ', r.kind)
	text = appendBits(text, r.point)
	for _, v := range r.numbers {
		text = appendBits(text, math.Float64bits(v))
	}
	return fmt.Appendf(text, " %08x\n", crc32.Checksum(text[begin:], castagnoli))
}

// appendBits appends a space and 16 hexadecimal digits.
func appendBits(text []byte, bits uint64) []byte {
	text = append(text, ' ')
	return hex.AppendEncode(text, binary.BigEndian.AppendUint64(nil, bits))
}

func parseRecord(line string) (stream string, r record, ok bool) {
	end := strings.LastIndexByte(line, ' ')
	if end < 0 {
		return "", r, false
	}
	sum, err := strconv.ParseUint(line[end+1:], 16, 32)
	fields := strings.Fields(line[:end])
	if err != nil || uint32(sum) != crc32.Checksum([]byte(line[:end]), castagnoli) || len(fields) < leastFieldCount || len(fields[1]) != 1 {
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

// hashPoint returns the first 64 bits of the SHA-256 of z.
func hashPoint(z []float64) uint64 {
	b := make([]byte, 0, 8*len(z))
	for _, v := range z {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint64(sum[:])
}
