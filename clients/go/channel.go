package assay

import (
	"context"
	"errors"
	"math/rand"
	"sort"
	"time"
)

// looksPerWait is how many times in the longest wait the client looks for calls that have waited
// longer.
const looksPerWait = 10

// The connections of a client, their replacement after a loss, and the calls that wait for one.

// outcome is what ends a call.
type outcome struct {
	head *ResponseHead
	body []byte
	err  error
}

// pendingCall is one call, and the caller that waits for its outcome.
type pendingCall struct {
	head     RequestHead
	body     []byte
	deadline time.Time
	id       uint64
	// queuedAt is when it began to wait for a free slot on the connection.
	queuedAt time.Time
	// wasRepeated: the call has been on a connection that was lost or drained.
	wasRepeated bool
	// isAbandoned: nobody waits any more. If the call was sent, the server still answers it.
	isAbandoned bool
	isWaiting   bool
	done        chan outcome
}

func (p *pendingCall) fail(err error) {
	if !p.isAbandoned {
		p.isAbandoned = true
		p.done <- outcome{err: err}
	}
}

// queue holds the calls that are on no connection, first in, first out. Abandoned calls stay until
// their turn, or until they are the most.
type queue struct {
	calls []*pendingCall
	count int // without the abandoned ones
}

func (q *queue) push(p *pendingCall) {
	p.isWaiting, p.queuedAt = true, time.Now()
	q.calls = append(q.calls, p)
	q.count++
}

// pushFront puts calls that were sent already before the others.
func (q *queue) pushFront(calls []*pendingCall) {
	for _, p := range calls {
		p.isWaiting, p.queuedAt = true, time.Now()
	}
	q.calls = append(append([]*pendingCall{}, calls...), q.calls...)
	q.count += len(calls)
}

func (q *queue) pop() *pendingCall {
	for len(q.calls) > 0 {
		p := q.calls[0]
		q.calls[0] = nil
		q.calls = q.calls[1:]
		if !p.isAbandoned {
			p.isWaiting = false
			q.count--
			return p
		}
	}
	q.calls = nil
	return nil
}

func (q *queue) abandoned() {
	q.count--
	if len(q.calls) > 64 && len(q.calls) > 2*q.count {
		var kept []*pendingCall
		for _, p := range q.calls {
			if !p.isAbandoned {
				kept = append(kept, p)
			}
		}
		q.calls = kept
	}
}

func (q *queue) failAll(err error) {
	for p := q.pop(); p != nil; p = q.pop() {
		p.fail(err)
	}
}

// dialState is about the next connection.
type dialState struct {
	isActive bool
	// next is the index of the address to try.
	next int
	// failures are those since an answer, or since all addresses had failed.
	failures []error
	rounds   int
	// random spreads the clients of a server. The package's own source starts the same in each
	// process of Go 1.19.
	random   *rand.Rand
	notUntil time.Time
	timer    *time.Timer
	cancel   context.CancelFunc
}

func (d *dialState) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
	if d.cancel != nil {
		d.cancel()
	}
}

func (c *Client) connections() []*connection {
	var all []*connection
	if c.current != nil {
		all = append(all, c.current)
	}
	for connection := range c.draining {
		all = append(all, connection)
	}
	return all
}

// admit takes a call to the connection, or to the queue.
func (c *Client) admit(p *pendingCall) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return newError(ErrClosed, "the client is closed", nil)
	}
	c.lastID++
	p.id = c.lastID
	c.waiting.push(p)
	c.pump()
	if p.isWaiting && c.waiting.count > c.options.WaitingLimit {
		p.isAbandoned = true
		c.waiting.abandoned()
		return tooMany()
	}
	return nil
}

func tooMany() *Error { return newError(ErrTooMany, "too many calls wait for the server", nil) }

// abandon forgets a call whose caller has gone.
func (c *Client) abandon(p *pendingCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.isAbandoned {
		return
	}
	p.isAbandoned, p.body = true, nil
	if p.isWaiting {
		c.waiting.abandoned()
		return
	}
	for _, connection := range c.connections() {
		if connection.inFlight[p.id] == p {
			connection.watchOverdue()
		}
	}
	c.closeDrained()
}

// pump moves waiting calls to the connection, and connects if there is none.
func (c *Client) pump() {
	if c.current != nil {
		for c.waiting.count > 0 && c.current.canSend() {
			if p := c.waiting.pop(); c.hasWaitedTooLong(p) {
				p.fail(tooMany())
			} else {
				c.current.send(p)
			}
		}
		if c.waiting.count > 0 {
			c.watchWaiting()
		}
		return
	}
	if c.closed || c.dial.isActive || c.waiting.count == 0 {
		return
	}
	c.dial.isActive = true
	c.dial.timer = time.AfterFunc(time.Until(c.dial.notUntil), c.connect)
}

// hasWaitedTooLong: time without a connection does not count, and bulk work can wait until its
// deadline.
func (c *Client) hasWaitedTooLong(p *pendingCall) bool {
	since := p.queuedAt
	if c.openedAt.After(since) {
		since = c.openedAt
	}
	return !p.head.MayWait && time.Since(since) > c.options.LongestWait
}

// watchWaiting ends calls that have waited too long, also while the server answers nothing.
func (c *Client) watchWaiting() {
	if c.waitTimer != nil {
		return
	}
	c.waitTimer = time.AfterFunc(c.options.LongestWait/looksPerWait, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waitTimer = nil
		if c.closed || c.current == nil {
			return
		}
		for _, p := range c.waiting.calls {
			switch {
			case p.isAbandoned || p.head.MayWait:
			case c.hasWaitedTooLong(p):
				p.fail(tooMany())
				c.waiting.abandoned()
			default:
				c.pump()
				return
			}
		}
		c.pump()
	})
}

// connect makes one attempt, in a goroutine of its own.
func (c *Client) connect() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.options.ConnectTimeout)
	defer cancel()
	c.dial.cancel = cancel
	target := c.addresses[c.dial.next]
	c.mu.Unlock()

	stream, err := dial(ctx, target, c.options.TLS)

	c.mu.Lock()
	defer c.mu.Unlock()
	c.dial.isActive, c.dial.cancel = false, nil
	switch {
	case err != nil:
		c.didFailToConnect(err)
	case c.closed:
		stream.Close()
	default:
		c.current, c.openedAt = newConnection(c, stream), time.Now()
	}
	c.pump()
}

// didFailToConnect goes on with the next address. If all have failed, so do the calls that wait.
func (c *Client) didFailToConnect(err error) {
	failures := c.failedAttempt(err)
	if failures == nil {
		return
	}
	kind := ErrTLS
	for _, failure := range failures {
		var known *Error
		if !errors.As(failure, &known) || known.Kind != ErrTLS {
			kind, err = ErrConnect, failure
		}
	}
	c.waiting.failAll(newError(kind, "no connection: "+cause(err).Error(), cause(err)))
}

func cause(err error) error {
	var known *Error
	if errors.As(err, &known) && known.cause != nil {
		return known.cause
	}
	return err
}

// failedAttempt returns the failures of all addresses if this was the last of them to fail. The
// next attempt then has to wait.
func (c *Client) failedAttempt(err error) []error {
	d := &c.dial
	d.next = (d.next + 1) % len(c.addresses)
	if d.failures = append(d.failures, err); len(d.failures) < len(c.addresses) {
		return nil
	}
	pause := c.options.LongestPause
	// 2^16 times the shortest pause exceeds any reasonable longest one.
	if shift := c.options.ShortestPause << d.rounds; d.rounds < 16 && shift < pause {
		pause = shift
	}
	d.rounds++
	d.notUntil = time.Now().Add(pause - time.Duration(d.random.Int63n(int64(pause)/2+1)))
	failures := d.failures
	d.failures = nil
	return failures
}

// didAnswer: the server works, so the next attempt can start at once.
func (c *Client) didAnswer() {
	c.dial.failures, c.dial.rounds, c.dial.notUntil = nil, 0, time.Time{}
}

// leave replaces the current connection: the next call goes to the next address.
func (c *Client) leave(connection *connection) {
	if c.current != connection {
		return
	}
	c.current = nil
	if connection.hasAnswered {
		c.dial.next = (c.dial.next + 1) % len(c.addresses)
	} else {
		c.failedAttempt(newError(ErrLost, "the connection ended before an answer", nil))
	}
}

// didDrain: the server takes no new calls on this connection.
func (c *Client) didDrain(connection *connection) {
	c.leave(connection)
	c.draining[connection] = true
	c.closeDrained()
	c.pump()
}

// closeDrained closes drained connections that no caller waits for.
func (c *Client) closeDrained() {
	for connection := range c.draining {
		if !connection.isAwaited() {
			connection.end()
			delete(c.draining, connection)
		}
	}
}

// didEnd decides about the calls of a connection that has ended.
func (c *Client) didEnd(connection *connection, err *Error) {
	calls := connection.end()
	sort.Slice(calls, func(i, j int) bool { return calls[i].id < calls[j].id })
	if c.closed {
		return
	}
	if err.Kind == ErrTLS && c.current == connection {
		// The server refused the client's certificate: the attempt has failed only now.
		c.current = nil
		c.waiting.pushFront(awaited(calls))
		c.didFailToConnect(err)
		c.pump()
		return
	}
	c.leave(connection)
	delete(c.draining, connection)
	if err.RetryAfter > 0 {
		pause := err.RetryAfter
		if pause > c.options.LongestPause {
			pause = c.options.LongestPause
		}
		c.dial.notUntil = time.Now().Add(pause)
	}
	var repeated []*pendingCall
	for _, p := range awaited(calls) {
		if err.Kind == ErrLost && c.canRepeat(p) {
			repeated = append(repeated, p)
		} else {
			p.fail(err)
		}
	}
	c.waiting.pushFront(repeated)
	c.pump()
}

func awaited(calls []*pendingCall) []*pendingCall {
	var kept []*pendingCall
	for _, p := range calls {
		if !p.isAbandoned {
			kept = append(kept, p)
		}
	}
	return kept
}

// canRepeat reports whether a call can be sent once more, which it is then.
func (c *Client) canRepeat(p *pendingCall) bool {
	if c.options.NoRetry || p.wasRepeated {
		return false
	}
	p.wasRepeated = true
	return true
}
