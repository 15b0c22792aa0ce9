// Makes calls with Go's gRPC for rpc_agents.py, which says what its lines mean.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	pb "assay/v1"
	health "grpc/health/v1"

	older "github.com/golang/protobuf/proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func encoded(bytes []byte) string {
	if len(bytes) == 0 {
		return "-"
	}
	return base64.StdEncoding.EncodeToString(bytes)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// answer prints the line of a call's outcome.
func answer(message proto.Message, err error) {
	found := status.Convert(err)
	var response, details []byte
	if err == nil {
		response, err = proto.Marshal(message)
		must(err)
	} else if len(found.Proto().GetDetails()) > 0 {
		details, err = older.Marshal(found.Proto())
		must(err)
	}
	fmt.Println(uint32(found.Code()), encoded([]byte(found.Message())), encoded(response),
		encoded(details))
}

type caller struct {
	verifier pb.VerifierClient
	signer   pb.SignerClient
	health   health.HealthClient
}

func (c caller) call(ctx context.Context, method string, bytes []byte) {
	switch method {
	case "Verify":
		request := &pb.VerifyRequest{}
		must(proto.Unmarshal(bytes, request))
		answer(c.verifier.Verify(ctx, request))
	case "Resolve":
		request := &pb.ResolveRequest{}
		must(proto.Unmarshal(bytes, request))
		answer(c.verifier.Resolve(ctx, request))
	case "Fetch":
		request := &pb.FetchRequest{}
		must(proto.Unmarshal(bytes, request))
		answer(c.verifier.Fetch(ctx, request))
	case "Info":
		answer(c.verifier.Info(ctx, &pb.InfoRequest{}))
	case "SignPromotionalOffer":
		request := &pb.SignPromotionalOfferRequest{}
		must(proto.Unmarshal(bytes, request))
		answer(c.signer.SignPromotionalOffer(ctx, request))
	case "Check":
		request := &health.HealthCheckRequest{}
		must(proto.Unmarshal(bytes, request))
		answer(c.health.Check(ctx, request))
	default:
		must(fmt.Errorf("no method %s", method))
	}
}

func (c caller) stream(count int, bytes []byte) {
	stream, err := c.verifier.VerifyStream(context.Background())
	must(err)
	go func() {
		for id := 1; id <= count; id++ {
			request := &pb.VerifyStreamRequest{}
			must(proto.Unmarshal(bytes, request))
			number := uint64(id)
			request.Id = &number
			if stream.Send(request) != nil {
				return
			}
		}
		stream.CloseSend()
	}()
	answers, valid, ids := 0, 0, map[uint64]bool{}
	for {
		found, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			answer(nil, err)
			return
		}
		answers++
		ids[found.GetId()] = true
		if found.GetVerification().GetVerdict() == pb.Verdict_VERDICT_VALID {
			valid++
		}
	}
	fmt.Println(answers, valid, len(ids))
}

func (c caller) watch(bytes []byte) {
	request := &health.HealthCheckRequest{}
	must(proto.Unmarshal(bytes, request))
	stream, err := c.health.Watch(context.Background(), request)
	must(err)
	for {
		found, err := stream.Recv()
		if err != nil {
			answer(nil, err)
			return
		}
		fmt.Println("status", int(found.GetStatus()))
	}
}

func main() {
	connection, err := grpc.Dial(os.Args[1], grpc.WithInsecure())
	must(err)
	c := caller{pb.NewVerifierClient(connection), pb.NewSignerClient(connection),
		health.NewHealthClient(connection)}
	input := bufio.NewReader(os.Stdin)
	for {
		line, err := input.ReadString('\n')
		if err != nil {
			return
		}
		words := strings.Fields(line)
		number, err := strconv.Atoi(words[2])
		must(err)
		bytes, err := os.ReadFile(words[3])
		must(err)
		ctx, cancel := context.WithCancel(context.Background())
		if len(words) > 4 {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+words[4])
		}
		switch words[0] {
		case "call":
			if number > 0 {
				ctx, cancel = context.WithTimeout(ctx, time.Duration(number)*time.Millisecond)
			}
			c.call(ctx, words[1], bytes)
		case "cancel":
			time.AfterFunc(time.Duration(number)*time.Millisecond, cancel)
			c.call(ctx, words[1], bytes)
		case "stream":
			c.stream(number, bytes)
		case "watch":
			c.watch(bytes)
		}
		cancel()
	}
}
