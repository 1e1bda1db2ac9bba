package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"strings"
)

// head begins the first line of a file.
const head = "gpfit-checkpoint 1 "

// record is one evaluation.
type record struct {
	kind byte
	// point is the hash of z.
	point uint64
	// numbers are f, and the gradient after it; or those of an error, see Failures.
	numbers []float64
}

// The kinds of records.
const (
	valueRecord     = 'v'
	gradientRecord  = 'g'
	failedValue     = 'p'
	failedGradient  = 'q'
	numbersOfValue  = 1
	leastFieldCount = 4
)

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

// Stream is a part of a journal whose evaluations are in order.
type Stream struct {
	journal *Journal
	name    string
	past    []record
	done    int // records replayed
}

// Replay returns the next recorded evaluation, which has to be one at z, of the
// value or with its gradient, which is written to grad; found is false where none
// is left. err is the error that was recorded, or an [*Error] if the record is of
// something else.
func (s *Stream) Replay(z, grad []float64) (f float64, found bool, err error) {
	if s == nil || s.done >= len(s.past) {
		return 0, false, nil
	}
	r, kind, failed := s.past[s.done], byte(valueRecord), byte(failedValue)
	if grad != nil {
		kind, failed = gradientRecord, failedGradient
	}
	s.done++
	switch same := r.point == hashPoint(z); {
	case same && r.kind == kind && len(r.numbers) == numbersOfValue+len(grad):
		copy(grad, r.numbers[numbersOfValue:])
		return r.numbers[0], true, nil
	case same && r.kind == failed:
		if err := s.journal.failures.Error(r.numbers); err != nil {
			return 0, true, err
		}
	}
	return 0, true, &Error{Path: s.journal.path, Msg: fmt.Sprintf("evaluation %d of %s is not the one that this fit asks for: it was written by another version of gpfit; delete it to begin anew", s.done, s.name)}
}

// Record appends an evaluation at z: its value, its gradient unless that is nil,
// or its error. Errors that are none of the journal's Failures are not recorded,
// since they end a run.
func (s *Stream) Record(z []float64, f float64, grad []float64, failure error) error {
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
