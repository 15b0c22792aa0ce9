// Package assaytest has a fake of the client, for the tests of programs that use it.
package assaytest

import (
	"context"
	"fmt"
	"sync"

	assay "assay.internal/assay/clients/go"
)

// Fake is an assay.Service without a server. It records the calls, and answers as its functions
// say. Without functions it refuses all evidence, as a server would that trusts nobody and has no
// key of Apple's.
type Fake struct {
	// OnVerify answers Verify.
	OnVerify func(evidence []byte, call assay.VerifyCall) (*assay.VerifyAnswer, error)
	// OnResolve answers Resolve.
	OnResolve func(items []assay.Item, call assay.ResolveCall) (*assay.ResolveAnswer, error)
	// OnFetch answers Fetch.
	OnFetch func(transactionID string, call assay.FetchCall) (*assay.FetchAnswer, error)
	// OnFetchByEvidence answers FetchByEvidence.
	OnFetchByEvidence func(evidence []byte, call assay.FetchCall) (*assay.FetchAnswer, error)
	// Err is the error of every call, if it is not nil.
	Err error
	// NotServing is what Health reports.
	NotServing bool

	mu       sync.Mutex
	evidence [][]byte
}

var _ assay.Service = (*Fake)(nil)

// Evidence returns what the calls so far have sent, item by item.
func (f *Fake) Evidence() [][]byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([][]byte{}, f.evidence...)
}

// validated is an expectation, which has to have a value.
type validated interface{ Validate() error }

// refuse returns the error of the first expectation that a client would refuse.
func refuse(expectations ...validated) error {
	for _, one := range expectations {
		if err := one.Validate(); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fake) record(ctx context.Context, evidence ...[]byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.evidence = append(f.evidence, evidence...)
	if f.Err != nil {
		return f.Err
	}
	return ctx.Err()
}

// Verify answers as OnVerify says.
func (f *Fake) Verify(
	ctx context.Context, evidence []byte, call assay.VerifyCall, _ ...assay.CallOption,
) (*assay.VerifyAnswer, error) {
	if err := refuse(call.Expectations); err != nil {
		return nil, err
	}
	if err := f.record(ctx, evidence); err != nil {
		return nil, err
	}
	if f.OnVerify == nil {
		return Refused(call.Kind, assay.VerdictUntrustedChain), nil
	}
	return f.OnVerify(evidence, call)
}

// Resolve answers as OnResolve says.
func (f *Fake) Resolve(
	ctx context.Context, items []assay.Item, call assay.ResolveCall, _ ...assay.CallOption,
) (*assay.ResolveAnswer, error) {
	if err := refuse(call.Expectations, call.Policy); err != nil {
		return nil, err
	}
	var evidence [][]byte
	answer := &assay.ResolveAnswer{Entitlements: new(assay.Entitlements)}
	for _, item := range items {
		evidence = append(evidence, item.Evidence)
		answer.Items = append(answer.Items, assay.ResolvedAnswer{
			Verification: Refused(item.Kind, assay.VerdictUntrustedChain).Verification,
			Label:        item.Label,
		})
	}
	if err := f.record(ctx, evidence...); err != nil {
		return nil, err
	}
	if f.OnResolve == nil {
		return answer, nil
	}
	return f.OnResolve(items, call)
}

// Fetch answers as OnFetch says.
func (f *Fake) Fetch(
	ctx context.Context, transactionID string, call assay.FetchCall, _ ...assay.CallOption,
) (*assay.FetchAnswer, error) {
	if err := refuse(call.Policy); err != nil {
		return nil, err
	}
	if err := f.record(ctx); err != nil {
		return nil, err
	}
	if f.OnFetch == nil {
		return nil, isNotConfigured()
	}
	return f.OnFetch(transactionID, call)
}

// FetchByEvidence answers as OnFetchByEvidence says.
func (f *Fake) FetchByEvidence(
	ctx context.Context, evidence []byte, call assay.FetchCall, _ ...assay.CallOption,
) (*assay.FetchAnswer, error) {
	if err := refuse(call.Policy); err != nil {
		return nil, err
	}
	if err := f.record(ctx, evidence); err != nil {
		return nil, err
	}
	if f.OnFetchByEvidence == nil {
		return nil, isNotConfigured()
	}
	return f.OnFetchByEvidence(evidence, call)
}

func isNotConfigured() error {
	return &assay.Error{
		Kind: assay.ErrStatus, Status: assay.StatusFailedPrecondition,
		Message: "Fetch is not configured",
	}
}

// Health reports whether NotServing is false.
func (f *Fake) Health(ctx context.Context) (bool, error) { return !f.NotServing, f.record(ctx) }

// Info returns an empty ServerInfo.
func (f *Fake) Info(ctx context.Context) (*assay.ServerInfo, error) {
	return new(assay.ServerInfo), f.record(ctx)
}

// Ping returns Err.
func (f *Fake) Ping(ctx context.Context) error { return f.record(ctx) }

// Valid is the answer to a genuine transaction.
func Valid(transaction *assay.JWSTransactionDecodedPayload) *assay.VerifyAnswer {
	return &assay.VerifyAnswer{Verification: &assay.Verification{
		Verdict: assay.VerdictValid, Kind: assay.KindTransaction, Transaction: transaction,
		Environment: transaction.Environment, DedupKey: dedupKey(transaction),
		EvidenceKey: evidenceKey(transaction),
	}}
}

// evidenceKey returns the key that a server makes for a signed state of a transaction.
func evidenceKey(transaction *assay.JWSTransactionDecodedPayload) string {
	if transaction.SignedDate == nil {
		return ""
	}
	return fmt.Sprintf("%s/%s/transaction/%s/%d", transaction.Environment, transaction.BundleID,
		transaction.TransactionID, *transaction.SignedDate)
}

// dedupKey returns the key that a server makes for a transaction.
func dedupKey(transaction *assay.JWSTransactionDecodedPayload) string {
	id, item := transaction.TransactionID, transaction.WebOrderLineItemID
	switch {
	case transaction.Type == "Non-Consumable":
		id = transaction.OriginalTransactionID
	case transaction.Type == "Auto-Renewable Subscription" && item != "" && item != "0":
		id = transaction.OriginalTransactionID + "/" + item
	}
	return transaction.Environment + "/" + transaction.BundleID + "/" + id
}

// Refused is the answer to refused evidence.
func Refused(kind assay.EvidenceKind, verdict assay.Verdict) *assay.VerifyAnswer {
	return &assay.VerifyAnswer{Verification: &assay.Verification{
		Verdict: verdict, Detail: "refused by the fake", Kind: kind,
	}}
}
