#!/usr/bin/env python3
"""A model server in miniature: the app that hookline stands in front of.

It is an ordinary HTTP server that knows nothing of run ids, queues or webhooks: it answers when it is done.

    POST /run {"prompt": "a few words", "seconds": 2}   the words reversed, after that many seconds (none without)
    the same with Accept: text/event-stream             one word per event, that many seconds apart (0.4 without)

usage: app.py [port] [address]
"""
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class App(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections open between requests
    disable_nagle_algorithm = True

    def do_POST(self):
        if self.headers.get("Content-Length") is None:
            self.close_connection = True
            return self.answer(411, {"error": "send a Content-Length"})
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/run":
            return self.answer(404, {"error": "the only endpoint is /run"})
        try:
            call = json.loads(body or b"{}")
            words = str(call.get("prompt", "")).split()
            seconds = max(0.0, min(3600.0, float(call.get("seconds", 0))))
        except (ValueError, AttributeError, TypeError):
            return self.answer(422, {"error": 'send {"prompt": "…", "seconds": 2}'})
        if "text/event-stream" in self.headers.get("Accept", ""):
            return self.stream(words, seconds or 0.4)
        time.sleep(seconds)
        self.answer(200, {"output": " ".join(reversed(words)), "words": len(words)})

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, words, pause):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for i, word in enumerate(words):
                time.sleep(pause if i > 0 else 0)
                event = f"data: {word}\n\n".encode()
                self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
            self.wfile.write(b"0\r\n\r\n")
        except ConnectionError:  # the caller has gone
            self.close_connection = True


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    address = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
    ThreadingHTTPServer((address, port), App).serve_forever()
