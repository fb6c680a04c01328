#!/usr/bin/env python3
import http.server
import json


class Parrot(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer({"status": "ok"})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        last_word = request["messages"][-1]["content"].split()[-1]
        message = {"role": "assistant", "content": last_word}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.answer({"object": "chat.completion", "model": request["model"], "choices": [choice]})

    def answer(self, body):
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


http.server.ThreadingHTTPServer(("127.0.0.1", 8399), Parrot).serve_forever()
