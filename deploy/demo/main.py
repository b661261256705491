"""A model in miniature, as functions: the app that hookline stands in front of.

Each public function is an endpoint; a JSON object's members are its arguments. Nothing here knows of HTTP, run ids,
queues or webhooks. app.py is the same as a server of its own, functions.c the same in C.

    POST /run    {"prompt": "a few words", "seconds": 2}   the words reversed, after that many seconds (none without)
    POST /stream {"prompt": "a few words", "seconds": 2}   one word per event, that many seconds apart (0.4 without)

usage: python3 -m hookline_runtime main.py --port 8000
"""
import time


def run(prompt: str, seconds: float = 0):
    time.sleep(seconds)
    words = prompt.split()
    return {"output": " ".join(reversed(words)), "words": len(words)}


def stream(prompt: str, seconds: float = 0.4):
    for i, word in enumerate(prompt.split()):
        time.sleep(seconds if i > 0 else 0)
        yield word
