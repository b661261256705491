"""The app of frameworks.test.mjs in FastAPI."""
import asyncio

from fastapi import Body, FastAPI, Request, Response, WebSocket, WebSocketDisconnect
from fastapi.responses import StreamingResponse

app = FastAPI()
release = asyncio.Event()


@app.post("/run")
def run(request: Request, prompt: str = Body(embed=True)):
    return {"output": prompt[::-1], "run": request.headers["x-request-id"]}


@app.post("/stream")
async def stream():
    async def events():
        yield "data: one\n\n"
        await release.wait()
        yield "data: two\n\n"
        yield "data: three\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


@app.post("/release")
async def release_stream():
    release.set()
    return Response(status_code=204)


@app.post("/fail")
def fail():
    raise RuntimeError("the function failed")


@app.websocket("/ws")
async def echo(socket: WebSocket):
    await socket.accept()
    try:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                break
            if message.get("bytes") is not None:
                await socket.send_bytes(message["bytes"])
            else:
                await socket.send_text(message["text"])
    except WebSocketDisconnect:
        pass
