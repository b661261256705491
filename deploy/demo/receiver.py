#!/usr/bin/env python3
"""A webhook receiver: verifies each delivery's signature and prints what arrived.

A delivery can come twice (when our answer to the first was lost), so a receiver keeps the ids of the runs
that it has dealt with. usage: WEBHOOK_SECRET=… receiver.py [port] [address]
"""
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ.get("WEBHOOK_SECRET", "").encode()
MAX_AGE_SECONDS = 300  # an older signature may be a recorded delivery, played back
done = set()  # run ids; a real receiver keeps them where it keeps what it made of them


def is_genuine(headers, body):
    """True when the body is signed with our secret, and was signed just now."""
    run_id = headers.get("X-Request-Id", "")
    timestamp = headers.get("X-Service-Webhook-Timestamp", "")
    version, _, received = headers.get("X-Service-Webhook-Signature", "").partition(",")
    if version != "v1" or not timestamp.isdecimal():
        return False
    content = f"{run_id}.{timestamp}.".encode() + body
    expected = hmac.new(SECRET, content, hashlib.sha256).hexdigest()
    is_signed = hmac.compare_digest(expected.encode(), received.encode())
    return is_signed and abs(time.time() - int(timestamp)) <= MAX_AGE_SECONDS


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not is_genuine(self.headers, body):
            print("REFUSED: the signature is missing, wrong or too old", flush=True)
            return self.answer(401)  # a 4xx is final: the sender does not try again
        delivery = json.loads(body)
        if delivery["run_id"] not in done:
            done.add(delivery["run_id"])
            print(time.strftime("arrived at %T:"))
            for name in ("X-Request-Id", "X-Service-Webhook-Timestamp", "X-Service-Webhook-Signature"):
                print(f"{name}: {self.headers[name]}")
            print(f"\n{body.decode()}\nVERIFIED run {delivery['run_id']}", flush=True)
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    if not SECRET:
        sys.exit("WEBHOOK_SECRET is not set")
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9000
    address = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
    ThreadingHTTPServer((address, port), Receiver).serve_forever()
