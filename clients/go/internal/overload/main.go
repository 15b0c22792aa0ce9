// Command overload measures what a client gets above a server's capacity: see conformance/README.md.
//
// usage: overload ADDRESS FILE RATE SECONDS default|unlimited
package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strconv"
	"sync"
	"time"

	assay "assay.internal/assay/clients/go"
)

// timeout is the patience of a caller. A later answer is worth nothing.
const timeout = 2 * time.Second

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 5 {
		return fmt.Errorf("usage: overload ADDRESS FILE RATE SECONDS default|unlimited")
	}
	token, err := os.ReadFile(arguments[1])
	if err != nil {
		return err
	}
	rate, err := strconv.ParseFloat(arguments[2], 64)
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseFloat(arguments[3], 64)
	if err != nil {
		return err
	}
	options := assay.Options{Addresses: arguments[:1]}
	if arguments[4] == "unlimited" {
		// What the defaults were, without a bound.
		options.InFlightLimit, options.WaitingLimit = 1<<20, 1<<20
		options.LongestWait = 30 * time.Second
	}
	client, err := assay.New(options)
	if err != nil {
		return err
	}
	defer client.Close()

	var mu sync.Mutex
	var latencies []time.Duration
	var calls sync.WaitGroup
	start := time.Now()
	for sent := 0; ; {
		elapsed := time.Since(start)
		if elapsed.Seconds() >= seconds {
			break
		}
		// Calls are due by the clock, whatever the server does.
		for due := int(elapsed.Seconds() * rate); sent < due; sent++ {
			calls.Add(1)
			go func() {
				defer calls.Done()
				ctx, cancel := context.WithTimeout(context.Background(), timeout)
				defer cancel()
				begun := time.Now()
				answer, err := client.Verify(ctx, token, assay.VerifyCall{
					Kind: assay.KindTransaction, OmitTypedPayload: true,
				})
				if err == nil && answer.Verdict == assay.VerdictValid {
					mu.Lock()
					latencies = append(latencies, time.Since(begun))
					mu.Unlock()
				}
			}()
		}
		time.Sleep(time.Millisecond)
	}
	calls.Wait()
	elapsed := time.Since(start).Seconds()
	sort.Slice(latencies, func(i, j int) bool { return latencies[i] < latencies[j] })
	median := 0.0
	if len(latencies) > 0 {
		median = latencies[len(latencies)/2].Seconds() * 1000
	}
	fmt.Printf("{\"answers\": %d, \"seconds\": %f, \"p50\": %f}\n", len(latencies), elapsed, median)
	return nil
}
