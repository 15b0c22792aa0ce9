package assay

import (
	"encoding/binary"
	"fmt"
	"io"
)

const (
	// A frame begins with its length, which does not count itself, and the length of its head.
	lengthBytes = 4
	prefixBytes = 8
	// largestHead is the server's limit for the head of a request.
	largestHead = 64 << 10
	// largestFrame is the limit of a response, and the default limit of a request.
	largestFrame = 32 << 20
	// keptBytes is the buffer that is kept for the next frame.
	keptBytes = 256 << 10
)

// appendFrame appends the frame of a request. It returns b unchanged if the frame exceeds a limit.
func appendFrame(b []byte, head *RequestHead, body []byte, limit int) ([]byte, bool) {
	start := len(b)
	whole := head.marshal(append(b, make([]byte, prefixBytes)...))
	headLength := len(whole) - start - prefixBytes
	length := lengthBytes + headLength + len(body)
	if headLength > largestHead || length > limit {
		return b, false
	}
	binary.BigEndian.PutUint32(whole[start:], uint32(length))
	binary.BigEndian.PutUint32(whole[start+lengthBytes:], uint32(headLength))
	return append(whole, body...), true
}

// frameReader reads the frames of responses.
type frameReader struct {
	from   io.Reader
	buffer []byte
}

// next returns the next frame. Its error is malformed if the bytes are not a frame of a response.
func (r *frameReader) next() (*ResponseHead, []byte, error) {
	var prefix [prefixBytes]byte
	if _, err := io.ReadFull(r.from, prefix[:lengthBytes]); err != nil {
		return nil, nil, err
	}
	length := binary.BigEndian.Uint32(prefix[:])
	if length < lengthBytes || length > largestFrame {
		if foreign := foreignProtocol(prefix[:lengthBytes]); foreign != "" {
			return nil, nil, malformed(foreign)
		}
		return nil, nil, malformed(fmt.Sprintf("a frame of %d bytes", length))
	}
	if _, err := io.ReadFull(r.from, prefix[lengthBytes:]); err != nil {
		return nil, nil, err
	}
	headLength := binary.BigEndian.Uint32(prefix[lengthBytes:])
	if headLength > length-lengthBytes {
		return nil, nil, malformed("a head that is longer than its frame")
	}
	head, err := r.read(r.buffer[:0], int(headLength))
	if err != nil {
		return nil, nil, err
	}
	if cap(head) <= keptBytes {
		r.buffer = head
	}
	response := new(ResponseHead)
	if err := response.unmarshal(new(decoder), head); err != nil {
		return nil, nil, err
	}
	// The caller keeps the body.
	body, err := r.read(nil, int(length-lengthBytes-headLength))
	return response, body, err
}

// foreignProtocol names another protocol by its first four bytes; it returns "" for other bytes. Read
// as a length, they exceed the largest frame.
func foreignProtocol(first []byte) string {
	if string(first) == "HTTP" {
		return "this is HTTP: the port of --listen http://; " +
			"a client needs that of --listen tcp://, tls:// or unix:"
	}
	// RFC 8446, section 5.1: an alert or a handshake, and the version 3.x.
	if (first[0] == 0x15 || first[0] == 0x16) && first[1] == 3 {
		return "this is TLS: write tls://HOST:PORT as the address"
	}
	return ""
}

// read appends count bytes to b. The memory grows with what arrives, not with what is announced.
func (r *frameReader) read(b []byte, count int) ([]byte, error) {
	for count > 0 {
		part := count
		if part > keptBytes {
			part = keptBytes
		}
		start := len(b)
		b = append(b, make([]byte, part)...)
		if _, err := io.ReadFull(r.from, b[start:]); err != nil {
			return nil, err
		}
		count -= part
	}
	return b, nil
}
