// Command throughput measures verifications a second; see conformance/README.md.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	assay "assay.internal/assay/clients/go"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "throughput:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 5 {
		return fmt.Errorf("usage: throughput ADDRESS FILE CALLS IN-FLIGHT typed|bare")
	}
	token, err := os.ReadFile(arguments[1])
	if err != nil {
		return err
	}
	calls, err := strconv.Atoi(arguments[2])
	if err != nil {
		return err
	}
	inFlight, err := strconv.Atoi(arguments[3])
	if err != nil {
		return err
	}
	client, err := assay.New(assay.Options{
		Addresses: arguments[:1], Timeout: 30 * time.Second, InFlightLimit: inFlight,
	})
	if err != nil {
		return err
	}
	defer client.Close()
	load := &load{client: client, token: token, inFlight: inFlight, call: assay.VerifyCall{
		Kind: assay.KindTransaction, OmitTypedPayload: arguments[4] == "bare",
	}}
	if err := load.perform(calls / 4); err != nil {
		return err
	}
	start := time.Now()
	if err := load.perform(calls); err != nil {
		return err
	}
	fmt.Printf("{\"answers\": %d, \"seconds\": %f}\n", calls, time.Since(start).Seconds())
	return nil
}

type load struct {
	client   *assay.Client
	token    []byte
	inFlight int
	call     assay.VerifyCall
}

// perform makes calls, and returns the first error.
func (l *load) perform(calls int) error {
	var left = int64(calls)
	var failed atomic.Pointer[error]
	var group sync.WaitGroup
	for i := 0; i < l.inFlight; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for atomic.AddInt64(&left, -1) >= 0 && failed.Load() == nil {
				if err := l.verify(); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		}()
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (l *load) verify() error {
	answer, err := l.client.Verify(context.Background(), l.token, l.call, assay.MayWait())
	if err == nil && answer.Verdict != assay.VerdictValid {
		err = fmt.Errorf("%v: %s", answer.Verdict, answer.Detail)
	}
	return err
}
