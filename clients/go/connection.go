package assay

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// unwrittenBytes is the limit of frames that the system has not taken. Above it, calls wait.
const unwrittenBytes = 1 << 20

var errNoTLS = errors.New(
	"the peer does not speak TLS: write tcp://HOST:PORT, or the port of --listen tls://")

// dial connects to an address, TLS included.
func dial(ctx context.Context, target address, config *tls.Config) (net.Conn, error) {
	var dialer net.Dialer
	stream, err := dialer.DialContext(ctx, target.network, target.target)
	if err != nil {
		return nil, newError(ErrConnect, err.Error(), err)
	}
	if !target.tls {
		return stream, nil
	}
	if config == nil {
		config = new(tls.Config)
	}
	config = config.Clone()
	if config.ServerName == "" {
		config.ServerName = target.host
	}
	secured := tls.Client(stream, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		stream.Close()
		if ctx.Err() != nil || isLoss(err) {
			return nil, newError(ErrConnect, "TLS handshake: "+err.Error(), err)
		}
		var plain tls.RecordHeaderError
		if errors.As(err, &plain) {
			err = fmt.Errorf("%v: %w", target.text, errNoTLS)
		}
		return nil, newError(ErrTLS, err.Error(), err)
	}
	return secured, nil
}

// isLoss reports whether the connection ended, which says nothing about certificates.
func isLoss(err error) bool {
	var system *os.SyscallError
	return errors.Is(err, io.EOF) || errors.As(err, &system)
}

// connection is one connection and its calls in flight. The client's lock guards it.
type connection struct {
	client      *Client
	stream      net.Conn
	inFlight    map[uint64]*pendingCall
	window      window
	hasAnswered bool
	isDraining  bool
	isEnded     bool
	// output has the frames for the writer.
	output []byte
	// unwritten counts the bytes of output, and those that the writer has.
	unwritten int
	wake      chan struct{}
	watch     *time.Timer
}

func newConnection(client *Client, stream net.Conn) *connection {
	c := &connection{
		client: client, stream: stream, inFlight: make(map[uint64]*pendingCall),
		window: newWindow(client.options.InFlightLimit),
		wake:   make(chan struct{}, 1),
	}
	go c.read()
	go c.write()
	return c
}

// end closes the connection, and returns its calls, whose fate the client decides.
func (c *connection) end() []*pendingCall {
	if c.isEnded {
		return nil
	}
	c.isEnded = true
	// With TLS this writes, and can wait for the peer.
	go c.stream.Close()
	close(c.wake)
	if c.watch != nil {
		c.watch.Stop()
	}
	calls := make([]*pendingCall, 0, len(c.inFlight))
	for _, p := range c.inFlight {
		calls = append(calls, p)
	}
	c.inFlight, c.output = nil, nil
	return calls
}

func (c *connection) isAwaited() bool {
	for _, p := range c.inFlight {
		if !p.isAbandoned {
			return true
		}
	}
	return false
}

// ---- Sending

func (c *connection) canSend() bool {
	return len(c.inFlight) < c.window.count() && c.unwritten < unwrittenBytes
}

// send adds the frame of a call to the output.
func (c *connection) send(p *pendingCall) {
	left := time.Until(p.deadline).Milliseconds()
	if left < 1 {
		left = 1
	}
	p.head.ID, p.head.TimeoutMs = &p.id, Pointer(uint32(left))
	before := len(c.output)
	output, fits := appendFrame(c.output, &p.head, p.body, c.client.options.FrameBytes)
	c.output = output
	if !fits {
		p.fail(newError(ErrTooLarge, fmt.Sprintf(
			"the request exceeds a frame of %d bytes, or a head of %d",
			c.client.options.FrameBytes, largestHead), nil))
		return
	}
	c.unwritten += len(output) - before
	c.inFlight[p.id] = p
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// write writes what send has added, all frames since the last time at once.
func (c *connection) write() {
	var spare []byte
	for range c.wake {
		c.client.mu.Lock()
		frames := c.output
		c.output = spare[:0]
		c.client.mu.Unlock()
		if len(frames) > 0 {
			if _, err := c.stream.Write(frames); err != nil {
				// The reader finds out why: an alert or a last frame can be there to read.
				c.stream.SetReadDeadline(time.Now().Add(time.Second))
				return
			}
		}
		c.client.mu.Lock()
		c.unwritten -= len(frames)
		if !c.isEnded {
			c.client.pump()
		}
		c.client.mu.Unlock()
		if spare = frames; cap(spare) > keptBytes {
			spare = nil
		}
	}
}

// ---- Receiving

func (c *connection) read() {
	frames := frameReader{from: bufio.NewReaderSize(c.stream, 64<<10)}
	for {
		head, body, err := frames.next()
		c.client.mu.Lock()
		var failure *Error
		if err != nil && !c.isEnded {
			failure = c.readError(err)
		} else if !c.isEnded {
			failure = c.take(head, body)
		}
		if failure != nil {
			c.client.didEnd(c, failure)
		}
		ended := c.isEnded
		c.client.mu.Unlock()
		if ended {
			return
		}
	}
}

func (c *connection) readError(err error) *Error {
	var problem malformed
	if errors.As(err, &problem) {
		return protocolError(string(problem))
	}
	// With TLS 1.3 a server rejects a client's certificate after the client's handshake.
	var operation *net.OpError
	if !c.hasAnswered && errors.As(err, &operation) && operation.Op == "remote error" {
		return newError(ErrTLS, err.Error(), err)
	}
	return newError(ErrLost, "the connection was lost: "+err.Error(), err)
}

// take handles one frame. It returns an error if the connection has to end.
func (c *connection) take(head *ResponseHead, body []byte) *Error {
	id := Value(head.ID)
	if id == 0 {
		return c.takeNotice(head)
	}
	p := c.inFlight[id]
	if p == nil {
		return protocolError(fmt.Sprintf("an answer to no request: id %d", id))
	}
	delete(c.inFlight, id)
	if !c.hasAnswered {
		c.hasAnswered = true
		c.client.didAnswer()
	}
	switch {
	case head.Status == StatusOk:
		c.window.grow()
	case head.Status == StatusResourceExhausted && Value(head.RetryAfterMs) > 0:
		// Without a pause, the status is about the call and not about the server's load.
		c.window.shrink(time.Now())
	}
	switch {
	case p.isAbandoned:
	case head.Status == StatusOk:
		p.isAbandoned = true
		p.done <- outcome{head: head, body: body}
	case head.Status == StatusUnavailable && c.isDraining && c.client.canRepeat(p):
		c.client.waiting.push(p)
	default:
		p.fail(answerError(head))
	}
	if c.isDraining {
		c.client.closeDrained()
	}
	if c.client.waiting.count > 0 {
		c.client.pump()
	}
	return nil
}

// takeNotice handles a frame with id 0, which applies to the whole connection.
func (c *connection) takeNotice(head *ResponseHead) *Error {
	switch {
	case head.Status == StatusOk:
		return protocolError("a notice without a reason")
	case head.Status != StatusUnavailable:
		return statusError(head)
	case !c.isDraining:
		c.isDraining = true
		c.client.didDrain(c)
	}
	return nil
}

// watchOverdue ends the connection when an answer is missing long after its deadline.
func (c *connection) watchOverdue() {
	if c.watch != nil || c.isEnded {
		return
	}
	c.watch = time.AfterFunc(overdue, func() {
		c.client.mu.Lock()
		defer c.client.mu.Unlock()
		if c.isEnded {
			return
		}
		c.watch = nil
		isRunning := false
		for _, p := range c.inFlight {
			if time.Since(p.deadline) > overdue {
				c.client.didEnd(c, newError(ErrLost, "the server does not answer", nil))
				return
			}
			isRunning = isRunning || p.isAbandoned
		}
		if isRunning {
			c.watchOverdue()
		}
	})
}
