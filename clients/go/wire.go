package assay

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// The encoding of protobuf messages, for messages.go.

const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// maxMessages limits the nested messages of one head. Each takes a hundred times the two bytes that
// an empty one takes on the wire, so a frame of 32 MiB could fill gigabytes. The receipts with
// the most records have some hundred thousand.
const maxMessages = 1 << 20

// malformed is why bytes are no message.
type malformed string

func (m malformed) Error() string { return string(m) }

// decoder counts what one head contains.
type decoder struct {
	messages int
}

type message interface {
	marshal(b []byte) []byte
	unmarshal(d *decoder, b []byte) error
}

// field is one field as read: a number, or the bytes of a text or message.
type field struct {
	number uint64
	wire   uint8
	value  uint64
	data   []byte
}

// nextField returns the first field of b, which is not empty, and what follows it.
func nextField(b []byte) (field, []byte, error) {
	tag, b, err := varint(b)
	if err != nil {
		return field{}, nil, err
	}
	f := field{number: tag >> 3, wire: uint8(tag & 7)}
	if f.number == 0 || tag > 1<<32-1 {
		return f, nil, malformed("a field number out of range")
	}
	switch f.wire {
	case wireVarint:
		f.value, b, err = varint(b)
		return f, b, err
	case wireBytes:
		var length uint64
		if length, b, err = varint(b); err != nil {
			return f, nil, err
		}
		return f.take(b, length)
	case wireFixed64:
		return f.take(b, 8)
	case wireFixed32:
		return f.take(b, 4)
	}
	return f, nil, malformed("a field of an unknown wire type")
}

func (f field) take(b []byte, length uint64) (field, []byte, error) {
	if length > uint64(len(b)) {
		return f, nil, malformed("a field longer than its message")
	}
	f.data = b[:length]
	return f, b[length:], nil
}

func varint(b []byte) (uint64, []byte, error) {
	value, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, malformed("a number that is cut off or too long")
	}
	return value, b[n:], nil
}

func (f field) expect(wire uint8) error {
	if f.wire != wire {
		return malformed(fmt.Sprintf("field %d has the wrong wire type", f.number))
	}
	return nil
}

func (f field) text() (string, error) {
	if err := f.expect(wireBytes); err != nil {
		return "", err
	}
	if !utf8.Valid(f.data) {
		return "", malformed("text that is not UTF-8")
	}
	return string(f.data), nil
}

func (f field) textPointer() (*string, error) {
	value, err := f.text()
	return &value, err
}

func (f field) octets() ([]byte, error) {
	return append([]byte{}, f.data...), f.expect(wireBytes)
}

func (f field) truth() (bool, error) { return f.value != 0, f.expect(wireVarint) }

func (f field) truthPointer() (*bool, error) {
	value := f.value != 0
	return &value, f.expect(wireVarint)
}

func (f field) message(d *decoder, m message) error {
	if err := f.expect(wireBytes); err != nil {
		return err
	}
	if d.messages++; d.messages > maxMessages {
		return malformed("too many messages in one head")
	}
	return m.unmarshal(d, f.data)
}

func pointer[T int32 | int64 | uint32 | uint64](f field) (*T, error) {
	value := T(f.value)
	return &value, f.expect(wireVarint)
}

func enumeration[T ~int32](f field) (T, error) { return T(f.value), f.expect(wireVarint) }

// packed appends the numbers of a repeated field, which has one number or the bytes of many.
func packed[T ~int32](values []T, f field) ([]T, error) {
	if f.wire == wireVarint {
		return append(values, T(f.value)), nil
	}
	rest := f.data
	for len(rest) > 0 {
		value, after, err := varint(rest)
		if err != nil {
			return nil, err
		}
		values, rest = append(values, T(value)), after
	}
	return values, f.expect(wireBytes)
}

func appendNumber(b []byte, number int, value uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(number)<<3|wireVarint), value)
}

func appendBool(b []byte, number int, value bool) []byte {
	if value {
		return appendNumber(b, number, 1)
	}
	return appendNumber(b, number, 0)
}

func appendLength(b []byte, number, length int) []byte {
	return binary.AppendUvarint(
		binary.AppendUvarint(b, uint64(number)<<3|wireBytes), uint64(length))
}

func appendText(b []byte, number int, text string) []byte {
	return append(appendLength(b, number, len(text)), text...)
}

func appendBytes(b []byte, number int, data []byte) []byte {
	return append(appendLength(b, number, len(data)), data...)
}

func appendMessage(b []byte, number int, m message) []byte {
	var space [128]byte
	return appendBytes(b, number, m.marshal(space[:0]))
}

func appendPacked[T ~int32](b []byte, number int, values []T) []byte {
	if len(values) == 0 {
		return b
	}
	var data []byte
	for _, value := range values {
		data = binary.AppendUvarint(data, uint64(value))
	}
	return appendBytes(b, number, data)
}

// nameOf returns the name of an enumeration's value; that of an unknown number has the number.
func nameOf[T ~int32](names map[T]string, value T) string {
	if name, ok := names[value]; ok {
		return name
	}
	return fmt.Sprintf("UNRECOGNIZED(%d)", int32(value))
}
