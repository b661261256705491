# busy_app.py - an app whose processors are always busy and whose health check answers seldom: BURNERS processes compute, and
# so does the one thread that serves, for BUSY_S at a time, with a call inside or none; between two of these it takes what waits. After /hang it
# answers nothing any more. A server of one thread, as many model servers are.
import http.server
import multiprocessing
import os
import socketserver
import time

BUSY_S = float(os.environ.get("BUSY_S", "20"))
BURNERS = int(os.environ.get("BURNERS", "1"))


def burn(seconds=float("inf")):
    end = time.monotonic() + seconds
    n = 1
    while time.monotonic() < end:
        n = (n * 1103515245 + 12345) % 2147483648


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body=b"{}"):
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer()

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path == "/hang":
            time.sleep(86400)
        burn(BUSY_S)
        self.answer()


if __name__ == "__main__":
    for _ in range(BURNERS):
        multiprocessing.Process(target=burn, daemon=True).start()
    socketserver.TCPServer.allow_reuse_address = True
    socketserver.TCPServer.request_queue_size = 128
    Handler.timeout = 1
    http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
