package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"regexp"
)

// A sealed JSON object has as its last member the CRC-32C of the text before this member, without the
// comma and the space around it. Readers of JSON need not know that.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errSeal reports a text that is not what was sealed.
var errSeal = errors.New("its contents do not match their checksum")

// sealMember is the last member of a sealed object and the end of the object.
var sealMember = regexp.MustCompile(`,\s*"crc32c": ?"([0-9a-f]{8})"\s*\}\s*$`)

// sealRoom is more than the bytes of that end.
const sealRoom = 256

// seal adds the checksum to a JSON object. between is the white space before a member.
func seal(object []byte, between string) []byte {
	body := bytes.TrimRight(bytes.TrimSuffix(bytes.TrimSpace(object), []byte("}")), " \n")
	space, end := "", "}"
	if between != "" {
		space, end = " ", "\n}"
	}
	return fmt.Appendf(body[:len(body):len(body)], ",%s\"crc32c\":%s\"%08x\"%s", between, space, crc32.Checksum(body, castagnoli), end)
}

// sealed reports whether an object has a checksum, and returns errSeal if it is not the object's.
func sealed(object []byte) (bool, error) {
	start := max(0, len(object)-sealRoom)
	at := sealMember.FindSubmatchIndex(object[start:])
	if at == nil {
		return false, nil
	}
	if fmt.Sprintf("%08x", crc32.Checksum(object[:start+at[0]], castagnoli)) != string(object[start+at[2]:start+at[3]]) {
		return true, errSeal
	}
	return true, nil
}
