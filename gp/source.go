package gp

import (
	"archive/zip"
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"gpfit/gp/npy"
)

// modelSource reads a model file once from its first byte to its last, hashes all bytes, and passes the
// contents of entries on. Besides, only the zip directory at the end of the file and the texts
// are read.
type modelSource struct {
	path string
	file io.ReaderAt
	size int64
	// body has the bytes of which want is the checksum; at is its position.
	body *bufio.Reader
	at   int64
	sum  hash.Hash
	want string
}

// newSource returns a source for a file that ends as a model does.
func newSource(f io.ReaderAt, size int64, path string) (*modelSource, error) {
	const digits = sha256.Size * 2
	trailer := make([]byte, len(commentPrefix)+digits)
	if _, err := f.ReadAt(trailer, max(size-int64(len(trailer)), 0)); err != nil || !strings.HasPrefix(string(trailer), commentPrefix) {
		var magic [4]byte
		if _, err := f.ReadAt(magic[:], 0); err == nil && string(magic[:]) == "PK\x03\x04" {
			return nil, &FileError{Path: path, Msg: "the file is truncated, or is not a gpfit model"}
		}
		return nil, &FileError{Path: path, Msg: "not a gpfit model file; 'gpfit fit' writes one"}
	}
	in := &modelSource{path: path, file: f, size: size, sum: sha256.New(), want: string(trailer[len(commentPrefix):])}
	in.body = bufio.NewReaderSize(io.TeeReader(io.NewSectionReader(f, 0, size-digits), in.sum), 1<<16)
	return in, nil
}

// verify reads the rest of the file and compares the checksum in the file's last bytes with its contents.
func (in *modelSource) verify() error {
	if _, err := io.Copy(io.Discard, in.body); err != nil {
		return err
	}
	if hex.EncodeToString(in.sum.Sum(nil)) != in.want {
		return &FileError{Path: in.path, Msg: "the file was altered or damaged: its checksum does not match"}
	}
	return nil
}

// arrays reads arrays in the order in which they are in the file.
func (in *modelSource) arrays(archive *zip.Reader, arrays []modelArray) error {
	readers := map[*zip.File]func(io.Reader) error{}
	var entries []*zip.File
	for _, a := range arrays {
		entry := find(archive, a.name+".npy")
		if entry == nil {
			continue // checkSizes accepts this
		}
		entries = append(entries, entry)
		readers[entry] = func(r io.Reader) (err error) {
			*a.into, err = npy.Read(r, a.name, a.shape)
			return err
		}
	}
	at := func(entry *zip.File) int64 {
		offset, _ := entry.DataOffset() // entry reports the error
		return offset
	}
	slices.SortStableFunc(entries, func(a, b *zip.File) int { return int(min(max(at(a)-at(b), -1), 1)) })
	for _, entry := range entries {
		if err := in.entry(entry, readers[entry]); err != nil {
			return err
		}
	}
	return nil
}

// entry reads an entry that is not compressed. read must read all of it.
func (in *modelSource) entry(entry *zip.File, read func(io.Reader) error) error {
	offset, err := entry.DataOffset()
	if err != nil {
		return err
	}
	if offset < in.at {
		return fmt.Errorf("%s overlaps other parts of the file, or stands before them", entry.Name)
	}
	sum := crc32.NewIEEE()
	contents := &io.LimitedReader{R: in.body, N: int64(entry.UncompressedSize64)}
	if _, err := io.CopyN(io.Discard, in.body, offset-in.at); err != nil {
		return err
	}
	in.at = offset + contents.N
	if err := read(io.TeeReader(contents, sum)); err != nil {
		return err
	}
	switch {
	case contents.N > 0:
		return fmt.Errorf("%s has more bytes than its shape needs", entry.Name)
	case sum.Sum32() != entry.CRC32:
		return errors.New(entry.Name + " is damaged: its checksum in the archive does not match")
	}
	return nil
}

// find returns the first entry of an archive with a name, or nil.
func find(archive *zip.Reader, name string) *zip.File {
	if i := slices.IndexFunc(archive.File, func(f *zip.File) bool { return f.Name == name }); i >= 0 {
		return archive.File[i]
	}
	return nil
}
