package assay

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// peer is the server's side of one connection, for a test to play.
type peer struct {
	t      *testing.T
	stream net.Conn
}

// serve starts a server whose connections, one after the other, are played by the functions. It
// returns its address.
func serve(t *testing.T, plays ...func(p *peer)) string {
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() { listener.Close(); all.Wait() })
	all.Add(1)
	go func() {
		defer all.Done()
		for _, play := range plays {
			stream, err := listener.Accept()
			if err != nil {
				return
			}
			p := &peer{t, stream}
			play(p)
			p.stream.Close()
		}
	}()
	return "unix:" + listener.Addr().String()
}

func (p *peer) receive() *RequestHead {
	var prefix [8]byte
	if _, err := io.ReadFull(p.stream, prefix[:]); err != nil {
		return nil
	}
	frame := make([]byte, binary.BigEndian.Uint32(prefix[:])-4)
	if _, err := io.ReadFull(p.stream, frame); err != nil {
		return nil
	}
	head := new(RequestHead)
	headLength := binary.BigEndian.Uint32(prefix[4:])
	if err := head.unmarshal(new(decoder), frame[:headLength]); err != nil {
		p.t.Error(err)
	}
	return head
}

func (p *peer) send(head *ResponseHead) {
	data := head.marshal(nil)
	frame := binary.BigEndian.AppendUint32(nil, uint32(4+len(data)))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(data)))
	_, _ = p.stream.Write(append(frame, data...))
}

func (p *peer) pong(id uint64) { p.send(&ResponseHead{ID: &id, Pong: &Pong{}}) }

// awaitEnd returns when the client has closed the connection.
func (p *peer) awaitEnd() { _, _ = io.Copy(io.Discard, p.stream) }

func newClient(t *testing.T, options Options, addresses ...string) *Client {
	options.Addresses = addresses
	client, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func TestAnswersInAnyOrder(t *testing.T) {
	const count = 100
	client := newClient(t, Options{}, serve(t, func(p *peer) {
		var ids []uint64
		for len(ids) < count {
			ids = append(ids, *p.receive().ID)
		}
		for i := range ids {
			p.pong(ids[len(ids)-1-i])
		}
		p.awaitEnd()
	}))
	var all sync.WaitGroup
	for i := 0; i < count; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			if err := client.Ping(context.Background()); err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
}

func TestPeersThatBreakTheProtocol(t *testing.T) {
	for name, play := range map[string]func(p *peer){
		"an id nobody asked for": func(p *peer) { p.pong(*p.receive().ID + 7) },
		"another call's answer": func(p *peer) {
			p.send(&ResponseHead{ID: p.receive().ID, Info: &ServerInfo{}})
		},
		"a notice without a reason": func(p *peer) { p.receive(); p.pong(0) },
		"HTTP":                      func(p *peer) { _, _ = io.WriteString(p.stream, "HTTP/1.1 400 Bad\r\n\r\n") },
		"a frame above the limit":   func(p *peer) { _, _ = p.stream.Write([]byte{2, 0, 0, 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			client := newClient(t, Options{}, serve(t, func(p *peer) {
				play(p)
				p.awaitEnd()
			}))
			err := client.Ping(context.Background())
			var failure *Error
			if !errors.Is(err, ErrProtocol) || !errors.As(err, &failure) || failure.Retryable() {
				t.Error(err)
			}
		})
	}
}

func TestAPeerOfAnotherProtocolIsNamed(t *testing.T) {
	const isHTTP = "this is HTTP: the port of --listen http://; a client needs that of"
	const isTLS = "this is TLS: write tls://HOST:PORT"
	for answer, message := range map[string]string{
		"HTTP/1.1 400 Bad Request\r\n\r\n": isHTTP, "HTTP/1.0 400 Bad\r\n\r\n": isHTTP, "HTTP": isHTTP,
		"\x15\x03\x03\x00\x02\x02\x28": isTLS, "\x16\x03\x01\x00": isTLS,
		"HTTQ": "a frame of 1213486161 bytes",
	} {
		answer := answer
		client := newClient(t, Options{}, serve(t, func(p *peer) {
			_, _ = io.WriteString(p.stream, answer)
			p.awaitEnd()
		}))
		err := client.Ping(context.Background())
		if !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), message) {
			t.Errorf("%q: %v", answer, err)
		}
	}
}

func TestDrain(t *testing.T) {
	drain := &ResponseHead{ID: new(uint64), Status: StatusUnavailable, Message: "draining"}
	old := make(chan uint64, 1)
	client := newClient(t, Options{}, serve(t, func(p *peer) {
		first := p.receive()
		p.pong(*first.ID)
		old <- *p.receive().ID
		p.send(drain)
		// The call in flight is answered on the old connection, when the new one works.
		go func(p peer) {
			time.Sleep(100 * time.Millisecond)
			p.pong(<-old)
			p.awaitEnd()
		}(peer{p.t, keep(p)})
	}, func(p *peer) {
		p.pong(*p.receive().ID)
		p.awaitEnd()
	}))
	ctx := context.Background()
	if err := client.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	inFlight := make(chan error)
	go func() { inFlight <- client.Ping(ctx) }()
	for isDraining := false; !isDraining; time.Sleep(time.Millisecond) {
		client.mu.Lock()
		isDraining = len(client.draining) > 0
		client.mu.Unlock()
	}
	if err := client.Ping(ctx); err != nil {
		t.Error("a new call:", err)
	}
	if err := <-inFlight; err != nil {
		t.Error("the call in flight:", err)
	}
}

// keep takes the stream away from serve, which closes it otherwise.
func keep(p *peer) net.Conn {
	stream := p.stream
	p.stream, _ = net.Pipe()
	return stream
}

func TestLostConnections(t *testing.T) {
	lose := func(p *peer) { p.receive() }
	answer := func(p *peer) { p.pong(*p.receive().ID); p.awaitEnd() }
	for _, test := range []struct {
		name  string
		plays []func(*peer)
		retry bool
		want  error
	}{
		{"once", []func(*peer){lose, answer}, true, nil},
		{"twice", []func(*peer){lose, lose}, true, ErrLost},
		{"once, without retry", []func(*peer){lose}, false, ErrLost},
	} {
		t.Run(test.name, func(t *testing.T) {
			client := newClient(t, Options{NoRetry: !test.retry}, serve(t, test.plays...))
			if err := client.Ping(context.Background()); !errors.Is(err, test.want) {
				t.Error(err)
			}
		})
	}
}

func TestDeadlines(t *testing.T) {
	client := newClient(t, Options{Timeout: 10 * time.Millisecond},
		serve(t, func(p *peer) { p.awaitEnd() }))
	start := time.Now()
	if err := client.Ping(context.Background()); !errors.Is(err, ErrDeadline) {
		t.Error(err)
	}
	if passed := time.Since(start); passed < deadlineGrace {
		t.Error("the server had no time to answer:", passed)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	err := client.Ping(ctx)
	if !errors.Is(err, ErrDeadline) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	time.AfterFunc(5*time.Millisecond, cancel)
	err = client.Ping(ctx)
	if !errors.Is(err, ErrCancelled) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestFailover(t *testing.T) {
	good := serve(t, func(p *peer) {
		for head := p.receive(); head != nil; head = p.receive() {
			p.pong(*head.ID)
		}
	})
	client := newClient(t, Options{}, "unix:/nowhere/1", "tcp://127.0.0.1:1", good)
	for i := 0; i < 3; i++ {
		if err := client.Ping(context.Background()); err != nil {
			t.Error(err)
		}
	}
	client = newClient(t, Options{}, "unix:/nowhere/1", "unix:/nowhere/2")
	err := client.Ping(context.Background())
	if !errors.Is(err, ErrConnect) || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
}

func TestLimits(t *testing.T) {
	client := newClient(t, Options{InFlightLimit: 1, WaitingLimit: 2, FrameBytes: 1000},
		serve(t, func(p *peer) {
			time.Sleep(50 * time.Millisecond)
			for head := p.receive(); head != nil; head = p.receive() {
				p.pong(*head.ID)
			}
		}))
	ctx := context.Background()
	_, err := client.Verify(ctx, make([]byte, 1000), VerifyCall{Kind: KindTransaction})
	if !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	results := make(chan error)
	for i := 0; i < 10; i++ {
		go func() { results <- client.Ping(ctx) }()
	}
	refused := 0
	for i := 0; i < 10; i++ {
		switch err := <-results; {
		case errors.Is(err, ErrTooMany):
			refused++
		case err != nil:
			t.Error(err)
		}
	}
	if refused != 7 {
		t.Error(refused, "calls of 10 were refused; 1 is in flight, and 2 wait")
	}
	client.Close()
	if err := client.Ping(ctx); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestAddresses(t *testing.T) {
	for _, test := range []struct{ text, problem string }{
		{"tcp://127.0.0.1:7443", ""}, {"tcp://[::1]:7443", ""}, {"tls://assay.example:1", ""},
		{"unix:/run/assay/assay.sock", ""}, {"unix:@assay", ""},
		{"", "scheme"}, {"127.0.0.1:7443", "scheme"}, {"http://a:1", "scheme"},
		{"tcp://::1:7443", "host and port"}, {"tcp://a", "host and port"}, {"tcp://:1", "host"},
		{"tcp://a:0", "port"}, {"tcp://a:65536", "port"}, {"tcp://a:x", "port"},
		{"tcp://a/b:1", "host"}, {"unix:", "path"}, {"unix:@", "path"},
		{"unix:/" + strings.Repeat("a", 107), "107 bytes"},
	} {
		_, problem := parseAddress(test.text)
		if (problem == "") != (test.problem == "") || !strings.Contains(problem, test.problem) {
			t.Errorf("%q: %q", test.text, problem)
		}
	}
	t.Setenv("ASSAY_ADDRESS", "unix:/a, tcp://b:1")
	if addresses, err := addressesOf(nil); err != nil || len(addresses) != 2 {
		t.Error(addresses, err)
	}
	t.Setenv("ASSAY_ADDRESS", "")
	if _, err := New(Options{}); !errors.Is(err, ErrAddress) {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		err       *Error
		retryable bool
	}{
		{&Error{Kind: ErrStatus, Status: StatusResourceExhausted, RetryAfter: 1}, true},
		{&Error{Kind: ErrStatus, Status: StatusResourceExhausted}, false},
		{&Error{Kind: ErrStatus, Status: StatusUnavailable}, true},
		{&Error{Kind: ErrConnect}, true}, {&Error{Kind: ErrTLS}, false},
		{&Error{Kind: ErrLost}, true}, {&Error{Kind: ErrProtocol}, false},
		{&Error{Kind: ErrDeadline}, true}, {&Error{Kind: ErrCancelled}, false},
		{&Error{Kind: ErrTooMany}, true}, {&Error{Kind: ErrTooLarge}, false},
	} {
		if test.err.Retryable() != test.retryable {
			t.Errorf("%v: %v", test.err.Kind, !test.retryable)
		}
	}
	if name := Verdict(99).String(); name != "UNRECOGNIZED(99)" {
		t.Error(name)
	}
}

// A frame of empty messages could fill a hundred times its size in memory.
func TestMessagesPerHead(t *testing.T) {
	items := make([]byte, 2*(maxMessages+1))
	for i := 0; i < len(items); i += 2 {
		items[i] = 1<<3 | wireBytes
	}
	if err := new(Resolution).unmarshal(new(decoder), items[2:]); err != nil {
		t.Error(err)
	}
	if err := new(Resolution).unmarshal(new(decoder), items); err == nil {
		t.Error("one more was accepted")
	}
}
