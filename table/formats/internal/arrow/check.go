package arrow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow/memory"
	flatbuffers "github.com/google/flatbuffers/go"

	"gpfit/internal/hostmem"
)

// The library checks that blocks lie in the file, and recovers from references that leave the
// metadata, but allocates what counts in the metadata claim. These checks come first: such a count
// must fit in its bytes. Slots have the numbers of Schema.fbs, File.fbs and Message.fbs of the Arrow
// format, version 1.5.

// footer is the metadata at the end of a file.
type footer struct {
	file    io.ReaderAt
	size    int64
	root    record
	batches flatbuffers.UOffsetT // where the blocks of batches begin
}

const (
	mostFields = 1 << 16 // with their children
	mostDepth  = 32
	blockSize  = 24
)

// readFooter reads and checks the footer, and the dictionaries that it names.
func readFooter(file io.ReaderAt, size int64) (*footer, error) {
	const tail = 4 + len(magic)
	var end [tail]byte
	if _, err := file.ReadAt(end[:], max(0, size-int64(tail))); err != nil && err != io.EOF {
		return nil, err
	}
	if string(end[4:]) != magic {
		return nil, errors.New("it is cut short: it does not end as Arrow files do")
	}
	length := int64(binary.LittleEndian.Uint32(end[:4]))
	if length > size {
		return nil, errors.New("its footer is longer than the file")
	}
	bytes := make([]byte, length)
	if _, err := file.ReadAt(bytes, size-int64(tail)-length); err != nil {
		return nil, err
	}
	f := &footer{file: file, size: size, root: rootOf(bytes)}
	schema, ok := f.root.child(6)
	if !ok {
		return nil, errors.New("it has no schema")
	}
	if err := checkSchema(schema); err != nil {
		return nil, err
	}
	dictionaries, n, err := f.root.vector(8, blockSize)
	for i := 0; i < n && err == nil; i++ {
		err = f.checkMessage(dictionaries, i)
	}
	if err == nil {
		f.batches, _, err = f.root.vector(10, blockSize)
	}
	return f, err
}

// checkSchema checks a schema.
func checkSchema(schema record) error {
	fields := 0
	return errors.Join(schema.checkFields(6, 0, &fields), schema.checkCount(8, 4))
}

// checkFields checks the fields in a slot of a schema or field, and counts them.
func (r record) checkFields(slot flatbuffers.VOffsetT, depth int, count *int) error {
	start, n, err := r.vector(slot, 4)
	if err != nil {
		return err
	}
	if *count += n; *count > mostFields || depth > mostDepth {
		return fmt.Errorf("it has more than %d columns, or columns within columns", mostFields)
	}
	for i := range n {
		field := record{flatbuffers.Table{Bytes: r.Bytes, Pos: r.Indirect(start + flatbuffers.UOffsetT(4*i))}}
		if err := errors.Join(field.checkCount(16, 4), field.checkFields(14, depth+1, count)); err != nil {
			return err
		}
	}
	return nil
}

// checkMessage checks the metadata of a batch or dictionary, of block i in the list that begins at start.
func (f *footer) checkMessage(start flatbuffers.UOffsetT, i int) error {
	block := start + flatbuffers.UOffsetT(blockSize*i)
	length := int64(f.root.GetInt32(block + 8))
	if length < 12 || length > f.size {
		return errors.New("a block lies outside of the file")
	}
	bytes := make([]byte, length)
	if _, err := f.file.ReadAt(bytes, f.root.GetInt64(block)); err != nil {
		return err
	}
	// The length of the metadata precedes it; since version 0.15 after a marker.
	if binary.LittleEndian.Uint32(bytes) == marker {
		bytes = bytes[4:]
	}
	return checkBatch(rootOf(bytes[4:]), length)
}

// marker precedes the length of the metadata of a message.
const marker = 0xffffffff

// checkBatch checks the message of a batch or dictionary, whose metadata have a length.
func checkBatch(message record, length int64) error {
	batch, ok := message.child(8)
	if !ok {
		return errors.New("a message is empty")
	}
	const dictionaryBatch = 2
	if message.GetByteSlot(6, 0) == dictionaryBatch {
		if batch, ok = batch.child(6); !ok {
			return errors.New("a dictionary is empty")
		}
	}
	counts, n, err := batch.vector(12, 8)
	if err = errors.Join(err, message.checkCount(12, 4)); err != nil {
		return err
	}
	for i := range n {
		// The metadata have 16 bytes for each buffer.
		if count := batch.GetInt64(counts + flatbuffers.UOffsetT(8*i)); count < 0 || count > length/16 {
			return fmt.Errorf("a column claims %d buffers", count)
		}
	}
	return nil
}

// checkStream checks the metadata of all messages of a stream, and returns the number of its batches.
func checkStream(file io.ReaderAt, size int64) (batches int, err error) {
	const schemaHeader, batchHeader = 1, 3
	for at := int64(0); at < size; {
		var head [8]byte
		if _, err := file.ReadAt(head[:], at); err != nil && err != io.EOF {
			return 0, err
		}
		length := int64(binary.LittleEndian.Uint32(head[4:]))
		switch {
		case binary.LittleEndian.Uint32(head[:]) != marker:
			return 0, errors.New("a message does not begin as messages of Arrow do")
		case length == 0:
			return batches, nil // the end of the stream
		case length < 8 || at+8+length > size:
			return 0, errors.New("it is cut short")
		}
		bytes := make([]byte, length)
		if _, err := file.ReadAt(bytes, at+8); err != nil {
			return 0, err
		}
		message := rootOf(bytes)
		content, ok := message.child(8)
		switch kind := message.GetByteSlot(6, 0); {
		case !ok:
			err = errors.New("a message is empty")
		case kind == schemaHeader:
			err = checkSchema(content)
		default:
			err = checkBatch(message, length)
			batches += map[byte]int{batchHeader: 1}[kind]
		}
		body := message.GetInt64Slot(10, 0)
		if at += 8 + length; err == nil && (body < 0 || body > size-at) {
			err = errors.New("it is cut short")
		}
		if err != nil {
			return 0, err
		}
		at += body
	}
	return batches, nil
}

// record is a table of FlatBuffers.
type record struct{ flatbuffers.Table }

// rootOf returns the table to which the first bytes refer.
func rootOf(bytes []byte) record {
	return record{flatbuffers.Table{Bytes: bytes, Pos: flatbuffers.GetUOffsetT(bytes)}}
}

// child returns the table in a slot.
func (r record) child(slot flatbuffers.VOffsetT) (record, bool) {
	o := flatbuffers.UOffsetT(r.Offset(slot))
	if o == 0 {
		return record{}, false
	}
	return record{flatbuffers.Table{Bytes: r.Bytes, Pos: r.Indirect(r.Pos + o)}}, true
}

// vector returns the start and length of a vector in a slot, whose elements have the given
// size. It may be missing.
func (r record) vector(slot flatbuffers.VOffsetT, size int) (start flatbuffers.UOffsetT, n int, err error) {
	o := flatbuffers.UOffsetT(r.Offset(slot))
	if o == 0 {
		return 0, 0, nil
	}
	start, n = r.Vector(o), r.VectorLen(o)
	if n < 0 || int64(n)*int64(size) > int64(len(r.Bytes))-int64(start) {
		return 0, 0, fmt.Errorf("its metadata claims %d elements where there is no room", n)
	}
	return start, n, nil
}

func (r record) checkCount(slot flatbuffers.VOffsetT, size int) error {
	_, _, err := r.vector(slot, size)
	return err
}

// allocator limits what a batch may take, because compressed buffers say how long they are.
type allocator struct {
	memory.Allocator
	used, most int
}

// newAllocator returns an allocator for a file of size bytes.
func newAllocator(size int64) *allocator {
	// Compression of tables saves less than this; only files made to harm save more.
	const ratio, least = 1 << 12, 1 << 20
	return &allocator{Allocator: memory.NewGoAllocator(), most: int(max(least, min(size, 1<<40)*ratio))}
}

func (a *allocator) Allocate(size int) []byte {
	a.claim(size)
	return a.Allocator.Allocate(size)
}

func (a *allocator) Reallocate(size int, b []byte) []byte {
	a.claim(size - len(b))
	return a.Allocator.Reallocate(size, b)
}

// claim panics unless there is room for size bytes more.
func (a *allocator) claim(size int) {
	if size > a.most-a.used {
		panic(errors.New("a batch claims more bytes than the file can hold"))
	}
	a.used += max(size, 0)
	if free := hostmem.Free(); size > 16<<20 && free > 0 && int64(size) > free {
		panic(fmt.Errorf("a batch needs %d MiB of memory, but %d MiB are free: write smaller batches", size>>20, free>>20))
	}
}

// The beginnings of a file and of a stream.
const (
	magic       = "ARROW1"
	streamMagic = "\xff\xff\xff\xff"
)
