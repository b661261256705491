"""What is measured, as hookline_runtime's functions."""
import time
from typing import List

from pydantic import BaseModel


class Box(BaseModel):
    x: int
    y: int


class Order(BaseModel):
    name: str
    price: float
    tags: List[str] = []
    box: Box


def empty():
    return None


def text(prompt: str):
    return {"output": prompt}


async def empty_async():
    return None


async def text_async(prompt: str):
    return {"output": prompt}


def model(order: Order):
    return order


def stream(n: int):
    for _ in range(n):
        time.sleep(0.002)
        yield str(time.monotonic_ns())
