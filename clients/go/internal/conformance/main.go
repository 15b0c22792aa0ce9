// Command conformance performs the cases of the conformance suite; see conformance/README.md.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"

	assay "assay.internal/assay/clients/go"
)

type outcome map[string]any

func main() {
	// With one processor, goroutines start in order.
	runtime.GOMAXPROCS(1)
	fmt.Println(`{"ready": "go"}`)
	input := bufio.NewReader(os.Stdin)
	output := json.NewEncoder(os.Stdout)
	for {
		line, err := input.ReadBytes('\n')
		if len(line) > 0 {
			var c testCase
			if err := json.Unmarshal(line, &c); err != nil {
				panic(err)
			}
			if err := output.Encode(perform(&c)); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func perform(c *testCase) outcome {
	client, err := assay.New(options(c))
	if err != nil {
		return outcome{"name": c.Name, "error": "address", "message": err.Error()}
	}
	defer client.Close()
	outcomes := []outcome{}
	for _, step := range c.Steps {
		if step.Close {
			client.Close()
		}
		time.Sleep(time.Duration(step.SleepMs) * time.Millisecond)
		outcomes = append(outcomes, start(client, step.Calls)...)
	}
	return outcome{"name": c.Name, "outcomes": outcomes}
}

func options(c *testCase) assay.Options {
	milliseconds := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	o := c.Options
	options := assay.Options{
		Addresses: c.Addresses, Timeout: milliseconds(o.TimeoutMs),
		ConnectTimeout: milliseconds(o.ConnectTimeoutMs),
		NoRetry:        o.RetriesOnce != nil && !*o.RetriesOnce,
		InFlightLimit:  o.InFlightLimit, WaitingLimit: o.WaitingLimit, FrameBytes: o.FrameBytes,
		LongestWait:   milliseconds(o.LongestWaitMs),
		ShortestPause: milliseconds(o.ShortestPauseMs),
		LongestPause:  milliseconds(o.LongestPauseMs),
	}
	if c.TLS == nil {
		return options
	}
	options.TLS = &tls.Config{ServerName: c.TLS.ServerName}
	if c.TLS.Authority != "" {
		text, err := os.ReadFile(c.TLS.Authority)
		if err != nil {
			panic(err)
		}
		options.TLS.RootCAs = x509.NewCertPool()
		options.TLS.RootCAs.AppendCertsFromPEM(text)
	}
	if c.TLS.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(c.TLS.Certificate, c.TLS.Key)
		if err != nil {
			panic(err)
		}
		options.TLS.Certificates = []tls.Certificate{pair}
	}
	return options
}

// start starts all calls, in order, and waits for their outcomes.
func start(client *assay.Client, calls []call) []outcome {
	var outcomes []*outcome
	var all sync.WaitGroup
	for i := range calls {
		for n := 0; n < calls[i].Count || n == 0; n++ {
			c, result := &calls[i], new(outcome)
			outcomes = append(outcomes, result)
			all.Add(1)
			go func() {
				defer all.Done()
				began := time.Now()
				*result = outcomeOf(client, c)
				(*result)["elapsedMs"] = float64(time.Since(began).Microseconds()) / 1000
			}()
			// Lets the new goroutine run until it waits.
			runtime.Gosched()
		}
	}
	all.Wait()
	var values []outcome
	for _, result := range outcomes {
		values = append(values, *result)
	}
	return values
}

func outcomeOf(client *assay.Client, c *call) outcome {
	ctx := context.Background()
	if c.TimeoutMs != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*c.TimeoutMs)*time.Millisecond)
		defer cancel()
	}
	if c.CancelAfterMs != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		time.AfterFunc(time.Duration(*c.CancelAfterMs)*time.Millisecond, cancel)
	}
	result, err := answer(ctx, client, c)
	if err == nil {
		return result
	}
	var known *assay.Error
	if !errors.As(err, &known) {
		panic(err)
	}
	result = outcome{
		"error": strings.TrimPrefix(known.Kind.Error(), "assay: "), "message": known.Message,
		"retryable": known.Retryable(),
	}
	if known.Kind == assay.ErrStatus {
		result["status"] = name(known.Status)
	}
	if known.AppStoreErrorCode != 0 {
		result["appStoreErrorCode"] = fmt.Sprint(known.AppStoreErrorCode)
	}
	if known.RetryAfter > 0 {
		result["retryAfterMs"] = known.RetryAfter.Milliseconds()
	}
	return result
}

// name is that of an enumeration's value; UNKNOWN if it has none.
func name(value fmt.Stringer) string {
	if text := value.String(); text != "UNSPECIFIED" && !strings.Contains(text, "(") {
		return text
	}
	return "UNKNOWN"
}

func answer(ctx context.Context, client *assay.Client, c *call) (outcome, error) {
	var callOptions []assay.CallOption
	if c.App != "" {
		callOptions = append(callOptions, assay.App(c.App))
	}
	if c.MayWait {
		callOptions = append(callOptions, assay.MayWait())
	}
	switch c.Call {
	case "verify":
		answer, err := client.Verify(ctx, c.Evidence.bytes(), assay.VerifyCall{
			Kind: kindOf(c.Kind), Expectations: c.Expectations.message(),
			ReturnPayloadJSON: c.ReturnPayloadJSON, OmitTypedPayload: c.OmitTypedPayload,
		}, callOptions...)
		if err != nil {
			return nil, err
		}
		return verification(answer), nil
	case "resolve":
		answer, err := client.Resolve(ctx, items(c), resolveCall(c), callOptions...)
		if err != nil {
			return nil, err
		}
		return owned("resolution", answer.Items, answer.Entitlements), nil
	case "fetch":
		answer, err := fetch(ctx, client, c, callOptions)
		if err != nil {
			return nil, err
		}
		result := owned("fetch", answer.Items, answer.Entitlements)
		putText(result, "environment", answer.Environment)
		putText(result, "revision", answer.Revision)
		return result, nil
	case "health":
		serving, err := client.Health(ctx)
		return outcome{"ok": "health", "serving": serving}, err
	case "info":
		info, err := client.Info(ctx)
		if err != nil {
			return nil, err
		}
		kinds := []string{}
		for _, kind := range info.Kinds {
			if name(kind) != "UNKNOWN" {
				kinds = append(kinds, name(kind))
			}
		}
		limits := info.Limits
		if limits == nil {
			limits = new(assay.Limits)
		}
		result := outcome{
			"ok": "info", "version": info.Version, "kinds": kinds, "roots": len(info.TrustedRoots),
		}
		put(result, "frameBytes", limits.FrameBytes)
		put(result, "resolveItems", limits.ResolveItems)
		return result, nil
	case "ping":
		return outcome{"ok": "pong"}, client.Ping(ctx)
	}
	panic("unknown call " + c.Call)
}

func put[T any](result outcome, key string, value *T) {
	if value != nil {
		result[key] = *value
	}
}

func putText(result outcome, key, value string) {
	if value != "" {
		result[key] = value
	}
}

func verification(answer *assay.VerifyAnswer) outcome {
	result := outcome{
		"ok": "verification", "valid": answer.Verdict == assay.VerdictValid,
		"verdict": name(answer.Verdict),
	}
	putText(result, "detail", answer.Detail)
	putText(result, "environment", answer.Environment)
	putText(result, "dedupKey", answer.DedupKey)
	if kind := name(answer.Kind); kind != "UNKNOWN" {
		result["kind"] = kind
	}
	if certificate := answer.Certificate; certificate != nil {
		putText(result, "serial", certificate.Serial)
		if certificate.NotAfter != nil {
			result["notAfter"] = fmt.Sprint(*certificate.NotAfter)
		}
	}
	v := answer.Verification
	for _, payload := range []struct {
		name  string
		isSet bool
	}{
		{"transaction", v.Transaction != nil}, {"renewalInfo", v.RenewalInfo != nil},
		{"appTransaction", v.AppTransaction != nil}, {"notification", v.Notification != nil},
		{"realtimeRequest", v.RealtimeRequest != nil}, {"appReceipt", v.AppReceipt != nil},
		{"transactionReceipt", v.TransactionReceipt != nil},
		{"serverAnswer", v.ServerAnswer != nil}, {"notificationV1", v.NotificationV1 != nil},
		{"googlePurchase", v.GooglePurchase != nil}, {"huaweiPurchase", v.HuaweiPurchase != nil},
		{"harmonyPurchase", v.HarmonyPurchase != nil},
		{"harmonySubscription", v.HarmonySubscription != nil},
		{"harmonyNotification", v.HarmonyNotification != nil},
		{"googleNotification", v.GoogleNotification != nil},
		{"huaweiNotification", v.HuaweiNotification != nil},
	} {
		if payload.isSet {
			result["payload"] = payload.name
		}
	}
	if transaction := answer.Transaction; transaction != nil {
		putText(result, "transactionId", transaction.TransactionID)
		putText(result, "productId", transaction.ProductID)
		if transaction.Price != nil {
			result["price"] = fmt.Sprint(*transaction.Price)
		}
	}
	if len(answer.PayloadJSON) > 0 {
		result["jsonBytes"] = len(answer.PayloadJSON)
	}
	return result
}

func owned(
	call string, items []assay.ResolvedAnswer, entitlements *assay.Entitlements,
) outcome {
	verdicts, labels, entitled, decided := []string{}, []string{}, []string{}, []int32{}
	for _, item := range items {
		verdicts = append(verdicts, name(item.Verdict))
		labels = append(labels, item.Label)
	}
	for _, app := range entitlements.Apps {
		for i, group := range app.SubscriptionGroups {
			deciding := group.Deciding
			if deciding == nil {
				continue
			}
			if deciding.IsEntitled {
				entitled = append(entitled, deciding.ProductID)
			}
			if i == 0 && deciding.DecidedBy != nil {
				decided = append(decided, assay.Value(deciding.DecidedBy.Item))
			}
		}
		for _, product := range append(app.NonConsumables, app.NonRenewing...) {
			if product.IsEntitled {
				entitled = append(entitled, product.ProductID)
			}
		}
	}
	sort.Strings(entitled)
	result := outcome{
		"ok": call, "items": verdicts, "labels": labels, "entitled": entitled,
		"decidedBy": decided,
	}
	if entitlements.IsStale {
		result["isStale"] = true
	}
	describe(result, items, entitlements)
	return result
}

// describe adds what only some answers have.
func describe(result outcome, items []assay.ResolvedAnswer, entitlements *assay.Entitlements) {
	texts := map[string]func(assay.ResolvedAnswer) string{
		"evidenceKeys":  func(item assay.ResolvedAnswer) string { return item.EvidenceKey },
		"originals":     func(item assay.ResolvedAnswer) string { return item.OriginalTransactionID },
		"accounts":      func(item assay.ResolvedAnswer) string { return item.AppAccountToken },
		"downloads":     func(item assay.ResolvedAnswer) string { return item.AppTransactionID },
		"notifications": func(item assay.ResolvedAnswer) string { return item.NotificationType },
		"subtypes":      func(item assay.ResolvedAnswer) string { return item.Subtype },
	}
	for name, text := range texts {
		list := []string{}
		for _, item := range items {
			list = append(list, text(item))
		}
		if strings.Join(list, "") != "" {
			result[name] = list
		}
	}
	var superseded []int
	for i, item := range items {
		if item.IsSuperseded {
			superseded = append(superseded, i)
		}
	}
	var seats, others, refresh []string
	for _, app := range entitlements.Apps {
		for _, group := range app.SubscriptionGroups {
			if group.Deciding == nil {
				continue
			}
			if group.Deciding.Seats != nil {
				seats = append(seats, fmt.Sprint(*group.Deciding.Seats))
			}
			if group.Deciding.BelongsToAnotherAccount {
				others = append(others, group.Deciding.ProductID)
			}
		}
		for _, product := range append(app.NonConsumables, app.NonRenewing...) {
			if product.BelongsToAnotherAccount {
				others = append(others, product.ProductID)
			}
		}
	}
	for _, one := range entitlements.Refresh {
		refresh = append(refresh, fmt.Sprintf(
			"%s:%d:%s", one.TransactionID, assay.Value(one.At), one.Reason))
	}
	sort.Strings(others)
	if len(superseded) > 0 {
		result["superseded"] = superseded
	}
	for name, list := range map[string][]string{
		"seats": seats, "ofAnother": others, "refresh": refresh,
	} {
		if len(list) > 0 {
			result[name] = list
		}
	}
}
