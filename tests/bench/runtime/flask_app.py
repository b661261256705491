"""The same for Flask. It has no loop of its own: its async functions start one for each call, so they are left out."""
import time

from flask import Flask, Response, jsonify, request

from functions import Order

app = Flask(__name__)


@app.post("/empty")
def empty():
    return jsonify(None)


@app.post("/text")
def text():
    return jsonify(output=request.get_json()["prompt"])


@app.post("/model")
def model():
    return jsonify(Order(**request.get_json()["order"]).dict())


@app.post("/stream")
def stream():
    def events(n):
        for _ in range(n):
            time.sleep(0.002)
            yield f"data: {time.monotonic_ns()}\n\n"

    return Response(events(request.get_json()["n"]), mimetype="text/event-stream")
