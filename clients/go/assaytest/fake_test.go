package assaytest

import (
	"context"
	"errors"
	"testing"

	assay "assay.internal/assay/clients/go"
)

// unlock is the kind of function that the fake is for.
func unlock(ctx context.Context, service assay.Service, token string) (string, error) {
	answer, err := service.Verify(
		ctx, []byte(token), assay.VerifyCall{Kind: assay.KindTransaction})
	if err != nil || answer.Verdict != assay.VerdictValid {
		return "", err
	}
	return answer.Transaction.ProductID, nil
}

func TestFake(t *testing.T) {
	ctx := context.Background()
	gold := &assay.JWSTransactionDecodedPayload{ProductID: "gold", TransactionID: "1"}
	fake := &Fake{}
	if product, err := unlock(ctx, fake, "a"); product != "" || err != nil {
		t.Error("a fake without functions refuses:", product, err)
	}
	fake.OnVerify = func(evidence []byte, _ assay.VerifyCall) (*assay.VerifyAnswer, error) {
		return Valid(gold), nil
	}
	if product, err := unlock(ctx, fake, "b"); product != "gold" || err != nil {
		t.Error(product, err)
	}
	if key := Valid(gold).EvidenceKey; key != "" {
		t.Error("a key of a statement without a date:", key)
	}
	signed := &assay.JWSTransactionDecodedPayload{
		Environment: "Production", BundleID: "com.example.game", TransactionID: "7",
		SignedDate: assay.Pointer(int64(5)),
	}
	if key := Valid(signed).EvidenceKey; key != "Production/com.example.game/transaction/7/5" {
		t.Error(key)
	}
	fake.Err = &assay.Error{Kind: assay.ErrLost, Message: "lost"}
	if _, err := unlock(ctx, fake, "c"); !errors.Is(err, assay.ErrLost) {
		t.Error(err)
	}
	if sent := fake.Evidence(); len(sent) != 3 || string(sent[2]) != "c" {
		t.Error(sent)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := unlock(cancelled, &Fake{}, "d"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	answer, err := (&Fake{}).Resolve(ctx, []assay.Item{{Label: "x"}}, assay.ResolveCall{})
	if err != nil || answer.Items[0].Label != "x" || len(answer.Entitlements.Apps) != 0 {
		t.Error(answer, err)
	}
}

func TestFetch(t *testing.T) {
	ctx := context.Background()
	var refusal *assay.Error
	_, err := (&Fake{}).Fetch(ctx, "1", assay.FetchCall{})
	if !errors.As(err, &refusal) || refusal.Status != assay.StatusFailedPrecondition ||
		refusal.Retryable() {
		t.Error(err)
	}
	fake := &Fake{
		OnFetch: func(id string, call assay.FetchCall) (*assay.FetchAnswer, error) {
			if id != "470001" {
				return nil, &assay.Error{
					Kind: assay.ErrStatus, Status: assay.StatusNotFound, AppStoreErrorCode: 4040010,
				}
			}
			return &assay.FetchAnswer{Environment: "Sandbox"}, nil
		},
	}
	if answer, err := fake.Fetch(ctx, "470001", assay.FetchCall{}); err != nil ||
		answer.Environment != "Sandbox" {
		t.Error(answer, err)
	}
	_, err = fake.Fetch(ctx, "2", assay.FetchCall{})
	if !errors.As(err, &refusal) || refusal.AppStoreErrorCode != 4040010 {
		t.Error(err)
	}
	fake.Err = &assay.Error{Kind: assay.ErrLost, Message: "lost"}
	if _, err := fake.Fetch(ctx, "470001", assay.FetchCall{}); !errors.Is(err, assay.ErrLost) {
		t.Error(err)
	}
}

func TestFetchByEvidence(t *testing.T) {
	ctx := context.Background()
	var refusal *assay.Error
	_, err := (&Fake{}).FetchByEvidence(ctx, []byte("token"), assay.FetchCall{})
	if !errors.As(err, &refusal) || refusal.Status != assay.StatusFailedPrecondition {
		t.Error(err)
	}
	fake := &Fake{
		OnFetchByEvidence: func(evidence []byte, call assay.FetchCall) (*assay.FetchAnswer, error) {
			return &assay.FetchAnswer{Environment: string(evidence)}, nil
		},
	}
	answer, err := fake.FetchByEvidence(ctx, []byte("token"), assay.FetchCall{})
	if err != nil || answer.Environment != "token" || len(fake.Evidence()) != 1 {
		t.Error(answer, err)
	}
}

// The fake refuses what a client refuses, so that a test of a program finds it.
func TestFakeRefusesEmptyExpectations(t *testing.T) {
	ctx, fake := context.Background(), &Fake{}
	expectations := &assay.Expectations{AppAccountToken: assay.Pointer("")}
	policy := &assay.EntitlementPolicy{ExpectedAppAccountToken: assay.Pointer("")}
	_, verify := fake.Verify(ctx, []byte("a"), assay.VerifyCall{Expectations: expectations})
	_, resolve := fake.Resolve(ctx, []assay.Item{{}}, assay.ResolveCall{Expectations: expectations})
	_, policed := fake.Resolve(ctx, []assay.Item{{}}, assay.ResolveCall{Policy: policy})
	_, fetch := fake.Fetch(ctx, "1", assay.FetchCall{Policy: policy})
	_, byEvidence := fake.FetchByEvidence(ctx, []byte("a"), assay.FetchCall{Policy: policy})
	for i, err := range []error{verify, resolve, policed, fetch, byEvidence} {
		if !errors.Is(err, assay.ErrArgument) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if sent := fake.Evidence(); len(sent) != 0 {
		t.Error(sent)
	}
}
