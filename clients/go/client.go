// Package assay is a client of an Assay server, which verifies store purchases.
//
//	client, err := assay.New(assay.Options{Addresses: []string{"unix:/run/assay/assay.sock"}})
//	answer, err := client.Resolve(ctx, []assay.Item{{Evidence: token}}, assay.ResolveCall{
//		Expectations: &assay.Expectations{
//			BundleID: assay.Pointer("com.example.game"), AppAccountToken: assay.Pointer(user),
//		},
//	})
//	if err == nil { … answer.Entitlements … }
//
// A verdict of Verify says that a purchase is genuine, and not that it has not expired.
package assay

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand"
	"sync"
	"time"
)

const (
	// longestTimeout is the longest that a server accepts.
	longestTimeout = 30 * time.Second
	// deadlineGrace is how much later than the server the client ends a call by itself. The
	// server's answer, which shows that the server was slow, then arrives first.
	deadlineGrace = 250 * time.Millisecond
	// overdue is how long after its deadline a missing answer means that the connection is lost. A
	// server answers every request, even a late one.
	overdue = 10 * time.Second
)

// Options are the settings of a client. A zero value has the default in brackets.
type Options struct {
	// Addresses of servers, each tcp://HOST:PORT, tls://HOST:PORT or unix:PATH [those in the
	// environment variable ASSAY_ADDRESS, separated by commas]. The client uses one, and the next
	// when that fails.
	Addresses []string
	// TLS has the authorities and the client certificate for tls:// [the system's authorities].
	TLS *tls.Config
	// Timeout of a call whose context has no deadline [5 s]. The longest is 30 s.
	Timeout time.Duration
	// ConnectTimeout of one attempt, handshake included [5 s].
	ConnectTimeout time.Duration
	// NoRetry fails a call when its connection is lost. Otherwise the client sends it once more.
	NoRetry bool
	// InFlightLimit is the number of calls on the connection at once [256]. Others wait.
	InFlightLimit int
	// LongestWait is how long a call waits at most for a free slot on an open connection [1 s]. Then it
	// fails with ErrTooMany, and the server learns nothing of it: above a server's capacity some
	// calls fail early instead of all calls late. Calls with MayWait wait until their deadline; with
	// 30 s, the longest timeout, all do.
	LongestWait time.Duration
	// WaitingLimit is the number of calls that wait at once [65536]. Others fail.
	WaitingLimit int
	// ShortestPause before the next attempt to connect, when all addresses have failed [50 ms]. It
	// doubles with each such round.
	ShortestPause time.Duration
	// LongestPause between attempts [2 s].
	LongestPause time.Duration
	// FrameBytes is the size limit of a request [32 MiB]. Match the server's if that is configured.
	FrameBytes int
}

func (o Options) withDefaults() Options {
	setDefault(&o.Timeout, 5*time.Second)
	setDefault(&o.ConnectTimeout, 5*time.Second)
	setDefault(&o.InFlightLimit, 256)
	setDefault(&o.LongestWait, time.Second)
	setDefault(&o.WaitingLimit, 65536)
	setDefault(&o.ShortestPause, 50*time.Millisecond)
	setDefault(&o.LongestPause, 2*time.Second)
	setDefault(&o.FrameBytes, largestFrame)
	return o
}

func setDefault[T int | time.Duration](value *T, standard T) {
	if *value <= 0 {
		*value = standard
	}
}

// Service is what a Client does. A server that takes a Service can be tested with
// assaytest.Fake.
type Service interface {
	Verify(context.Context, []byte, VerifyCall, ...CallOption) (*VerifyAnswer, error)
	Resolve(context.Context, []Item, ResolveCall, ...CallOption) (*ResolveAnswer, error)
	Fetch(context.Context, string, FetchCall, ...CallOption) (*FetchAnswer, error)
	FetchByEvidence(context.Context, []byte, FetchCall, ...CallOption) (*FetchAnswer, error)
	Health(context.Context) (bool, error)
	Info(context.Context) (*ServerInfo, error)
	Ping(context.Context) error
}

// Client is a client of one server, or of several that answer alike. Many goroutines can use it
// at once: their calls share one connection, and answers arrive in any order.
type Client struct {
	options   Options
	addresses []address

	// mu guards the fields below, and those of the connections.
	mu       sync.Mutex
	closed   bool
	lastID   uint64
	current  *connection
	draining map[*connection]bool
	waiting  queue
	dial     dialState
	// openedAt is since when there is a connection.
	openedAt time.Time
	// waitTimer is that of calls that wait for a free slot on the connection.
	waitTimer *time.Timer
}

// New makes a client. It connects at the first call.
func New(options Options) (*Client, error) {
	addresses, err := addressesOf(options.Addresses)
	if err != nil {
		return nil, err
	}
	return &Client{
		options: options.withDefaults(), addresses: addresses,
		draining: make(map[*connection]bool),
		dial:     dialState{random: rand.New(rand.NewSource(time.Now().UnixNano()))},
	}, nil
}

// CallOption changes one call.
type CallOption func(*RequestHead)

// App names the server's app entry, whose policy applies.
func App(name string) CallOption { return func(head *RequestHead) { head.App = name } }

// MayWait asks a busy server to queue the call instead of refusing it, for bulk work. The server
// serves such calls after all others; give the context a long deadline.
func MayWait() CallOption { return func(head *RequestHead) { head.MayWait = true } }

// VerifyAnswer is the answer to Verify.
type VerifyAnswer struct {
	*Verification
	// PayloadJSON is the signed JSON, if the call requested it and the verdict is VALID.
	PayloadJSON []byte
}

// Verify verifies evidence: the bytes that the app or Apple sent. A refusal is an answer, not an
// error: check the verdict.
func (c *Client) Verify(
	ctx context.Context, evidence []byte, call VerifyCall, options ...CallOption,
) (*VerifyAnswer, error) {
	head, body, err := c.perform(ctx, RequestHead{Verify: &call}, evidence, options)
	if err != nil {
		return nil, err
	}
	if head.Verification == nil {
		return nil, anotherCall()
	}
	return &VerifyAnswer{head.Verification, body}, nil
}

// Item is one item of evidence for Resolve.
type Item struct {
	Evidence []byte
	// Kind of the evidence; 0: the server detects it.
	Kind EvidenceKind
	// Label is the caller's name for the item.
	Label string
}

// ResolvedAnswer is the outcome of one item of Resolve or Fetch.
type ResolvedAnswer struct {
	*Verification
	Label string
	// PayloadJSON is the signed JSON, if the call requested it and the verdict is VALID.
	PayloadJSON []byte
	// IsSuperseded: without the item the answer is the same. Delete it from a store.
	IsSuperseded bool
	// OriginalTransactionID, and the members below, are what to file the item under. Empty where
	// the item names none or several.
	OriginalTransactionID string
	AppAccountToken       string
	AppTransactionID      string
	// NotificationType and Subtype are those of a notification, in Apple's spelling.
	NotificationType string
	Subtype          string
}

// ResolveAnswer is the answer to Resolve.
type ResolveAnswer struct {
	// Items has the outcome of each item, in order.
	Items []ResolvedAnswer
	// Entitlements is what the valid items say together.
	Entitlements *Entitlements
}

// Resolve verifies items of evidence, and returns what the customer owns. A refused item is an
// answer, not an error: check its verdict. The client sets call.Items.
func (c *Client) Resolve(
	ctx context.Context, items []Item, call ResolveCall, options ...CallOption,
) (*ResolveAnswer, error) {
	call.Items = make([]*EvidenceItem, len(items))
	var body []byte
	for i, item := range items {
		call.Items[i] = &EvidenceItem{
			Kind: item.Kind, Length: Pointer(uint32(len(item.Evidence))), Label: item.Label,
		}
		body = append(body, item.Evidence...)
	}
	head, body, err := c.perform(ctx, RequestHead{Resolve: &call}, body, options)
	if err != nil {
		return nil, err
	}
	if head.Resolution == nil {
		return nil, anotherCall()
	}
	answers, err := resolved(head.Resolution.Items, body)
	if err != nil {
		return nil, err
	}
	if len(answers) != len(items) {
		return nil, protocolError("the answer does not fit its items")
	}
	return &ResolveAnswer{answers, orEmpty(head.Resolution.Entitlements)}, nil
}

// resolved gives each item its part of the body.
func resolved(items []*ResolvedItem, body []byte) ([]ResolvedAnswer, error) {
	var answers []ResolvedAnswer
	for _, item := range items {
		length := uint64(Value(item.PayloadJSONLength))
		if item.Verification == nil || length > uint64(len(body)) {
			return nil, protocolError("the answer does not fit its items")
		}
		answers = append(answers, ResolvedAnswer{
			Verification: item.Verification, Label: item.Label, PayloadJSON: body[:length:length],
			IsSuperseded: item.IsSuperseded, OriginalTransactionID: item.OriginalTransactionID,
			AppAccountToken: item.AppAccountToken, AppTransactionID: item.AppTransactionID,
			NotificationType: item.NotificationType, Subtype: item.Subtype,
		})
		body = body[length:]
	}
	if len(body) != 0 {
		return nil, protocolError("the answer does not fit its items")
	}
	return answers, nil
}

func orEmpty(entitlements *Entitlements) *Entitlements {
	if entitlements == nil {
		return new(Entitlements)
	}
	return entitlements
}

// FetchAnswer is the answer to Fetch.
type FetchAnswer struct {
	// Environment is the one that knows the customer: Production or Sandbox.
	Environment string
	// Revision is that at the end of the history, if the call asked for it.
	Revision string
	// Items has the App Store's answers as evidence, all verified, in the order in which they came.
	Items []ResolvedAnswer
	// Entitlements is what the answers say together.
	Entitlements *Entitlements
}

// Fetch asks the App Store for a customer's purchases, and returns what the customer owns. The
// identifier is that of any transaction of the customer. The server needs a key of Apple's for
// this. Error.AppStoreErrorCode is Apple's own reason for a refusal. Without a deadline the call
// ends after 30 s. The client sets call.TransactionID.
func (c *Client) Fetch(
	ctx context.Context, transactionID string, call FetchCall, options ...CallOption,
) (*FetchAnswer, error) {
	call.TransactionID = transactionID
	return c.fetch(ctx, call, nil, options)
}

// FetchByEvidence fetches as Fetch does, for the customer whom a token, a notification or a receipt
// names: the newest transaction in it counts. It is at most 1 MiB. The server does not verify it, but
// each answer of the App Store. The client clears call.TransactionID.
func (c *Client) FetchByEvidence(
	ctx context.Context, evidence []byte, call FetchCall, options ...CallOption,
) (*FetchAnswer, error) {
	call.TransactionID = ""
	return c.fetch(ctx, call, evidence, options)
}

func (c *Client) fetch(
	ctx context.Context, call FetchCall, evidence []byte, options []CallOption,
) (*FetchAnswer, error) {
	if _, ok := ctx.Deadline(); !ok {
		// Apple takes its time.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, longestTimeout)
		defer cancel()
	}
	head, body, err := c.perform(ctx, RequestHead{Fetch: &call}, evidence, options)
	if err != nil {
		return nil, err
	}
	fetched := head.Fetched
	if fetched == nil {
		return nil, anotherCall()
	}
	answers, err := resolved(fetched.Items, body)
	if err != nil {
		return nil, err
	}
	return &FetchAnswer{
		fetched.Environment, fetched.Revision, answers, orEmpty(fetched.Entitlements),
	}, nil
}

// Health reports whether the server is serving.
func (c *Client) Health(ctx context.Context) (bool, error) {
	head, _, err := c.perform(ctx, RequestHead{Health: &HealthCall{}}, nil, nil)
	if err != nil {
		return false, err
	}
	if head.Health == nil {
		return false, anotherCall()
	}
	return head.Health.Status == ServingServing, nil
}

// Info returns the server's version, kinds, limits and roots.
func (c *Client) Info(ctx context.Context) (*ServerInfo, error) {
	head, _, err := c.perform(ctx, RequestHead{Info: &InfoCall{}}, nil, nil)
	if err != nil {
		return nil, err
	}
	if head.Info == nil {
		return nil, anotherCall()
	}
	return head.Info, nil
}

// Ping returns when the server has answered.
func (c *Client) Ping(ctx context.Context) error {
	head, _, err := c.perform(ctx, RequestHead{Ping: &PingCall{}}, nil, nil)
	if err == nil && head.Pong == nil {
		err = anotherCall()
	}
	return err
}

func anotherCall() error { return protocolError("an answer to another call") }

// perform sends a request and waits for its answer, its deadline, or the end of the context.
func (c *Client) perform(
	ctx context.Context, head RequestHead, body []byte, options []CallOption,
) (*ResponseHead, []byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, contextError(err)
	}
	if err := head.validate(); err != nil {
		return nil, nil, err
	}
	for _, option := range options {
		option(&head)
	}
	now := time.Now()
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = now.Add(c.options.Timeout)
	}
	if latest := now.Add(longestTimeout); deadline.After(latest) {
		deadline = latest
	}
	p := &pendingCall{head: head, body: body, deadline: deadline, done: make(chan outcome, 1)}
	if err := c.admit(p); err != nil {
		return nil, nil, err
	}
	timer := time.NewTimer(deadline.Add(deadlineGrace).Sub(now))
	defer timer.Stop()
	select {
	case o := <-p.done:
		return o.head, o.body, o.err
	case <-ctx.Done():
		c.abandon(p)
		return nil, nil, contextError(ctx.Err())
	case <-timer.C:
		c.abandon(p)
		return nil, nil, newError(ErrDeadline, "the deadline passed without an answer", nil)
	}
}

func contextError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return newError(ErrDeadline, "the deadline passed without an answer", err)
	}
	return newError(ErrCancelled, "the call was cancelled", err)
}

// Close ends the connections. Outstanding and later calls fail with ErrClosed.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	failure := newError(ErrClosed, "the client is closed", nil)
	for _, connection := range c.connections() {
		for _, p := range connection.end() {
			p.fail(failure)
		}
	}
	c.waiting.failAll(failure)
	c.dial.stop()
	if c.waitTimer != nil {
		c.waitTimer.Stop()
	}
	return nil
}

// Pointer returns a pointer to a value, for optional fields.
func Pointer[T any](value T) *T { return &value }

// Value returns what an optional field points to, and zero if it is absent.
func Value[T any](pointer *T) T {
	if pointer == nil {
		var zero T
		return zero
	}
	return *pointer
}

// Time returns the time of a field in milliseconds since 1970, and the zero time if it is absent.
func Time(milliseconds *int64) time.Time {
	if milliseconds == nil {
		return time.Time{}
	}
	return time.UnixMilli(*milliseconds)
}
