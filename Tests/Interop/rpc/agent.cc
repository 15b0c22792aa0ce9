// Makes calls with gRPC for C++ for rpc_agents.py, which says what its lines mean.
#include <chrono>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <thread>

#include <grpcpp/grpcpp.h>

#include "assay/v1/service.grpc.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"

using namespace std::chrono;

static std::string encoded(const std::string &bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (bytes.empty()) return "-";
    std::string text;
    for (size_t i = 0; i < bytes.size(); i += 3) {
        unsigned group = 0;
        for (size_t j = i; j < i + 3; j++)
            group = group << 8 | (j < bytes.size() ? (unsigned char)bytes[j] : 0);
        for (int j = 0; j < 4; j++)
            text += i + j > bytes.size() ? '=' : digits[group >> (18 - 6 * j) & 63];
    }
    return text;
}

struct Caller {
    std::unique_ptr<assay::v1::Verifier::Stub> verifier;
    std::unique_ptr<assay::v1::Signer::Stub> signer;
    std::unique_ptr<grpc::health::v1::Health::Stub> health;
};

template <typename Stub, typename Request, typename Answer>
static void call(grpc::ClientContext *context, const std::string &bytes, Stub &stub,
                 grpc::Status (Stub::*method)(grpc::ClientContext *, const Request &, Answer *)) {
    Request request;
    Answer answer;
    if (!request.ParseFromString(bytes)) exit(1);
    grpc::Status status = (stub.*method)(context, request, &answer);
    std::cout << status.error_code() << ' ' << encoded(status.error_message()) << ' '
              << encoded(status.ok() ? answer.SerializeAsString() : "") << ' '
              << encoded(status.error_details()) << std::endl;
}

static void call(Caller &caller, grpc::ClientContext *context, const std::string &method,
                 const std::string &bytes) {
    using Verifier = assay::v1::Verifier::Stub;
    if (method == "Verify") call(context, bytes, *caller.verifier, &Verifier::Verify);
    else if (method == "Resolve") call(context, bytes, *caller.verifier, &Verifier::Resolve);
    else if (method == "Fetch") call(context, bytes, *caller.verifier, &Verifier::Fetch);
    else if (method == "Info") call(context, bytes, *caller.verifier, &Verifier::Info);
    else if (method == "SignPromotionalOffer")
        call(context, bytes, *caller.signer, &assay::v1::Signer::Stub::SignPromotionalOffer);
    else if (method == "Check")
        call(context, bytes, *caller.health, &grpc::health::v1::Health::Stub::Check);
    else exit(1);
}

static void stream(Caller &caller, int count, const std::string &bytes) {
    grpc::ClientContext context;
    auto stream = caller.verifier->VerifyStream(&context);
    std::thread writer([&] {
        assay::v1::VerifyStreamRequest request;
        if (!request.ParseFromString(bytes)) exit(1);
        for (int id = 1; id <= count; id++) {
            request.set_id(id);
            if (!stream->Write(request)) return;
        }
        stream->WritesDone();
    });
    int answers = 0, valid = 0;
    std::set<uint64_t> ids;
    assay::v1::VerifyStreamResponse found;
    while (stream->Read(&found)) {
        answers++;
        ids.insert(found.id());
        valid += found.verification().verdict() == assay::v1::VERDICT_VALID;
    }
    writer.join();
    grpc::Status status = stream->Finish();
    if (status.ok()) std::cout << answers << ' ' << valid << ' ' << ids.size() << std::endl;
    else std::cout << status.error_code() << ' ' << encoded(status.error_message()) << std::endl;
}

static void watch(Caller &caller, const std::string &bytes) {
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckRequest request;
    if (!request.ParseFromString(bytes)) exit(1);
    auto stream = caller.health->Watch(&context, request);
    grpc::health::v1::HealthCheckResponse found;
    while (stream->Read(&found)) std::cout << "status " << found.status() << std::endl;
    grpc::Status status = stream->Finish();
    std::cout << status.error_code() << ' ' << encoded(status.error_message()) << " - -"
              << std::endl;
}

int main(int, char **arguments) {
    auto channel = grpc::CreateChannel(arguments[1], grpc::InsecureChannelCredentials());
    Caller caller{assay::v1::Verifier::NewStub(channel), assay::v1::Signer::NewStub(channel),
                  grpc::health::v1::Health::NewStub(channel)};
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string action, method, path, key;
        int number;
        words >> action >> method >> number >> path >> key;
        std::ifstream file(path, std::ios::binary);
        std::string bytes((std::istreambuf_iterator<char>(file)), {});
        if (action == "stream") {
            stream(caller, number, bytes);
            continue;
        }
        if (action == "watch") {
            watch(caller, bytes);
            continue;
        }
        grpc::ClientContext context;
        if (!key.empty()) context.AddMetadata("authorization", "Bearer " + key);
        std::thread canceller;
        if (action == "cancel")
            canceller = std::thread([&] {
                std::this_thread::sleep_for(milliseconds(number));
                context.TryCancel();
            });
        else if (number > 0) context.set_deadline(system_clock::now() + milliseconds(number));
        call(caller, &context, method, bytes);
        if (canceller.joinable()) canceller.join();
    }
}
