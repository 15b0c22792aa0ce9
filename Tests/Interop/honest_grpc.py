"""An honest client of gRPC: fifty calls a second until a line on standard input.

usage: honest_grpc.py HOST:PORT [CHANNELS], with a token as the first line. Prints "ready" after the first
correct answer, and at the end JSON as honest.py does.
"""
import json
import sys
import threading
import time

import grpc
from assay.v1 import assay_pb2 as assay
from assay.v1 import service_pb2 as service

PER_SECOND = 50


def main():
    token = sys.stdin.buffer.readline().strip()
    # Each with connections of its own.
    channels = [grpc.insecure_channel(sys.argv[1], options=[("grpc.use_local_subchannel_pool", 1)])
                for _ in range(int((sys.argv + ["1"])[2]))]
    calls = [channel.unary_unary(
        "/assay.v1.Verifier/Verify", request_serializer=service.VerifyRequest.SerializeToString,
        response_deserializer=service.VerifyResponse.FromString) for channel in channels]
    request = service.VerifyRequest(evidence=token)
    request.call.kind = assay.EVIDENCE_KIND_TRANSACTION
    seen = dict.fromkeys(["sent", "valid", "wrong", "refused", "late", "lost"], 0)
    latencies, messages, lock = [], {}, threading.Lock()

    def note(what, text):
        seen[what] += 1
        messages.setdefault(what, text)

    def done(call, due):
        with lock:
            try:
                answer = call.result()
            except grpc.RpcError as error:
                code = error.code()
                if code == grpc.StatusCode.DEADLINE_EXCEEDED:
                    note("late", error.details())
                elif code == grpc.StatusCode.RESOURCE_EXHAUSTED:
                    note("refused", error.details())
                else:
                    note("lost", f"{code}: {error.details()}")
                return
            if answer.verification.verdict == assay.VERDICT_VALID:
                seen["valid"] += 1
                latencies.append((time.monotonic() - due) * 1000)
            else:
                note("wrong", answer.verification.detail)

    for verify in calls:
        verify(request, timeout=15, wait_for_ready=True)
    print("ready", flush=True)
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.buffer.readline(), over.set()), daemon=True).start()
    pending, due = [], time.monotonic()
    while not over.is_set():
        due += 1 / PER_SECOND
        time.sleep(max(0, due - time.monotonic()))
        seen["sent"] += 1
        call = calls[seen["sent"] % len(calls)].future(request, timeout=2)
        call.add_done_callback(lambda call, due=due: done(call, due))
        pending.append(call)
        pending = [call for call in pending if not call.done()]
    deadline = time.monotonic() + 3
    while pending and time.monotonic() < deadline:
        time.sleep(0.01)
        pending = [call for call in pending if not call.done()]
    with lock:
        latencies.sort()
        p = {f"p{share}": latencies[len(latencies) * share // 100] if latencies else None
             for share in (50, 99)}
        print(json.dumps(dict(seen, messages=messages, **p)), flush=True)


main()
