"""What is measured, as hookline_runtime's functions."""
import time


def empty():
    return None


def text(prompt: str):
    return {"output": prompt}


async def empty_async():
    return None


async def text_async(prompt: str):
    return {"output": prompt}


def stream(n: int):
    for _ in range(n):
        time.sleep(0.002)
        yield str(time.monotonic_ns())
