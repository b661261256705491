"""The same for FastAPI."""
import time

from fastapi import Body, FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from functions import Order

app = FastAPI()


class Prompt(BaseModel):
    prompt: str


class Count(BaseModel):
    n: int


@app.post("/empty")
def empty():
    return None


@app.post("/text")
def text(body: Prompt):
    return {"output": body.prompt}


@app.post("/empty_async")
async def empty_async():
    return None


@app.post("/text_async")
async def text_async(body: Prompt):
    return {"output": body.prompt}


@app.post("/model")
def model(order: Order = Body(embed=True)):
    return order


@app.post("/stream")
def stream(body: Count):
    def events():
        for _ in range(body.n):
            time.sleep(0.002)
            yield f"data: {time.monotonic_ns()}\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")
