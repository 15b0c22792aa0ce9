// gRPC's own server for C++ doing nothing: it reads each request, without looking at it, and
// answers with a fixed number of bytes. One thread and one completion queue, as is best for one processor;
// the generic service has no messages that would be decoded.
//
// usage: echo BYTES      prints its port
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <cstdlib>
#include <string>

// One call: it is taken, read, and answered together with its status.
struct Call {
    grpc::AsyncGenericService &service;
    grpc::ServerCompletionQueue &queue;
    const grpc::ByteBuffer &answer;
    grpc::GenericServerContext context;
    grpc::GenericServerAsyncReaderWriter stream{&context};
    grpc::ByteBuffer request;
    enum { TAKEN, READ, ANSWERED } next = TAKEN;

    Call(grpc::AsyncGenericService &service, grpc::ServerCompletionQueue &queue,
         const grpc::ByteBuffer &answer)
        : service(service), queue(queue), answer(answer) {
        service.RequestCall(&context, &stream, &queue, &queue, this);
    }

    void go(bool ok) {
        if (!ok || next == ANSWERED) {
            delete this;
        } else if (next == TAKEN) {
            new Call(service, queue, answer);
            next = READ;
            stream.Read(&request, this);
        } else {
            next = ANSWERED;
            stream.WriteAndFinish(answer, grpc::WriteOptions(), grpc::Status::OK, this);
        }
    }
};

int main(int count, char **arguments) {
    if (count != 2) return 2;
    grpc::Slice bytes(std::string(std::atoi(arguments[1]), 'x'));
    grpc::ByteBuffer answer(&bytes, 1);
    grpc::AsyncGenericService service;
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterAsyncGenericService(&service);
    auto queue = builder.AddCompletionQueue();
    auto server = builder.BuildAndStart();
    if (!server) return 1;
    std::printf("%d\n", port);
    std::fflush(stdout);
    new Call(service, *queue, answer);
    void *tag;
    bool ok;
    while (queue->Next(&tag, &ok)) static_cast<Call *>(tag)->go(ok);
}
