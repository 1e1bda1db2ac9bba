package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"strings"
)

// Every checkpoint begins with anyHead, and one of the version that gpfit writes with head.
const (
	anyHead = "gpfit-checkpoint "
	head    = anyHead + "1 "
)

// record is one evaluation.
type record struct {
	kind byte
	// point is the hash of z.
	point uint64
	// numbers are f and then the gradient, or the numbers of an error; see
	// Failures.
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
