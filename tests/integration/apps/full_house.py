# full_house.py - an app on a unix socket that answers until it is asked for /hold (or, with TEST_HOLDS, for anything):
# then it keeps that call, and nobody else can connect, because as many wait to be accepted as may.
import os
import signal
import socket

path = os.environ["SOCKET"]
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(1)


def connect():
    waiting = socket.socket(socket.AF_UNIX)
    waiting.setblocking(False)
    waiting.connect(path)
    return waiting


while True:
    call, _ = listener.accept()
    request = call.recv(65536)
    if b" /hold " in request or (request and "TEST_HOLDS" in os.environ):
        break
    if request:
        call.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
    call.close()

waiting = []
try:
    while True:
        waiting.append(connect())
except BlockingIOError:
    print("full", flush=True)
signal.pause()
