package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"sync"

	assay "assay.internal/assay/clients/go"
)

type testCase struct {
	Name      string
	Addresses []string
	TLS       *struct{ Authority, Certificate, Key, ServerName string }
	Options   struct {
		ConnectTimeoutMs, TimeoutMs, InFlightLimit, WaitingLimit, FrameBytes int
		LongestWaitMs                                                        int
		ShortestPauseMs, LongestPauseMs                                      int
		RetriesOnce                                                          *bool
	}
	Steps []struct {
		Calls   []call
		SleepMs int
		Close   bool
	}
}

type call struct {
	Call                                string
	Count                               int
	TimeoutMs, CancelAfterMs            *int
	MayWait                             bool
	App, Kind                           string
	Evidence                            evidence
	Expectations                        *expectations
	ReturnPayloadJSON, OmitTypedPayload bool
	Items                               []struct {
		Evidence    evidence
		Kind, Label string
	}
	At                  *int64 `json:",string"`
	Policy              *policy
	TransactionID       string
	Lists               []string
	ReturnTypedPayloads bool
}

type policy struct {
	MaxAgeMs                *int64 `json:",string"`
	BillingRetryLeniencyMs  *int64 `json:",string"`
	RenewalLeniencyMs       *int64 `json:",string"`
	KnownAt                 *int64 `json:",string"`
	RefuseFamilySharing     bool
	ExpectedAppAccountToken *string
	Durations               map[string]string
	StackedProducts         []string
}

func (p *policy) message() *assay.EntitlementPolicy {
	if p == nil {
		return nil
	}
	result := &assay.EntitlementPolicy{
		MaxAgeMs: p.MaxAgeMs, BillingRetryLeniencyMs: p.BillingRetryLeniencyMs,
		RefuseFamilySharing:     p.RefuseFamilySharing,
		ExpectedAppAccountToken: p.ExpectedAppAccountToken,
		RenewalLeniencyMs:       p.RenewalLeniencyMs, KnownAt: p.KnownAt,
	}
	for product, text := range p.Durations {
		var duration int64
		fmt.Sscan(text, &duration)
		message := &assay.ProductDuration{ProductID: product, DurationMs: &duration}
		for _, stacked := range p.StackedProducts {
			message.Stacks = message.Stacks || stacked == product
		}
		result.Durations = append(result.Durations, message)
	}
	return result
}

type evidence struct {
	File, Text string
	Zeros      int
}

// files has what was read, because thousands of calls can send the same file.
var files sync.Map

func (e evidence) bytes() []byte {
	if e.File != "" {
		if data, ok := files.Load(e.File); ok {
			return data.([]byte)
		}
		data, err := os.ReadFile(e.File)
		if err != nil {
			panic(err)
		}
		files.Store(e.File, data)
		return data
	}
	return append([]byte(e.Text), make([]byte, e.Zeros)...)
}

type expectations struct {
	BundleID             *string
	Environments         []string
	ProductIDs           []string
	AppAccountToken      *string
	TransactionID        *string
	NotOlderThan         *int64 `json:",string"`
	AppAppleID           *int64 `json:",string"`
	DeviceIdentifier     *string
	DeviceVerificationID *string
}

func (e *expectations) message() *assay.Expectations {
	if e == nil {
		return nil
	}
	var device []byte
	if e.DeviceIdentifier != nil {
		device, _ = hex.DecodeString(*e.DeviceIdentifier)
	}
	return &assay.Expectations{
		BundleID: e.BundleID, Environments: e.Environments, ProductIDs: e.ProductIDs,
		AppAccountToken: e.AppAccountToken, TransactionID: e.TransactionID,
		NotOlderThan: e.NotOlderThan, AppAppleID: e.AppAppleID, DeviceIdentifier: device,
		DeviceVerificationID: e.DeviceVerificationID,
	}
}

func kindOf(name string) assay.EvidenceKind { return named[assay.EvidenceKind](name) }

// named returns the enumeration's value with this name, and 0 without one.
func named[E interface {
	~int32
	String() string
}](name string) E {
	for value := E(1); value < 100; value++ {
		if value.String() == name {
			return value
		}
	}
	return 0
}

func items(c *call) []assay.Item {
	var items []assay.Item
	for _, item := range c.Items {
		items = append(items, assay.Item{
			Evidence: item.Evidence.bytes(), Kind: kindOf(item.Kind), Label: item.Label,
		})
	}
	return items
}

func resolveCall(c *call) assay.ResolveCall {
	return assay.ResolveCall{
		At: c.At, Expectations: c.Expectations.message(), ReturnPayloadJSON: c.ReturnPayloadJSON,
		Policy: c.Policy.message(),
	}
}

func fetch(
	ctx context.Context, client *assay.Client, c *call, options []assay.CallOption,
) (*assay.FetchAnswer, error) {
	if evidence := c.Evidence.bytes(); len(evidence) > 0 {
		return client.FetchByEvidence(ctx, evidence, fetchCall(c), options...)
	}
	return client.Fetch(ctx, c.TransactionID, fetchCall(c), options...)
}

func fetchCall(c *call) assay.FetchCall {
	result := assay.FetchCall{
		At: c.At, Policy: c.Policy.message(), ReturnTypedPayloads: c.ReturnTypedPayloads,
	}
	for _, list := range c.Lists {
		result.Lists = append(result.Lists, named[assay.StoreList](list))
	}
	return result
}
