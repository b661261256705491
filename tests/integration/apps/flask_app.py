"""The app of frameworks.test.mjs in Flask."""
import threading

from flask import Flask, Response, request

app = Flask(__name__)
release = threading.Event()


@app.post("/run")
def run():
    prompt = request.get_json()["prompt"]
    return {"output": prompt[::-1], "run": request.headers["X-Request-Id"]}


@app.post("/stream")
def stream():
    def events():
        yield "data: one\n\n"
        release.wait()
        yield "data: two\n\n"
        yield "data: three\n\n"

    return Response(events(), mimetype="text/event-stream")


@app.post("/release")
def release_stream():
    release.set()
    return "", 204


@app.post("/fail")
def fail():
    raise RuntimeError("the function failed")
