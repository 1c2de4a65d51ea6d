"""Example programs in Python and TypeScript that receive the events of a webhook, for people to copy."""

PYTHON = """\
# pip install "anthropic[webhooks]"
import os
from http.server import BaseHTTPRequestHandler, HTTPServer

import anthropic
from standardwebhooks import WebhookVerificationError

client = anthropic.Anthropic(api_key="unused", webhook_key=os.environ["MEMORYHUB_WEBHOOK_KEY"])
seen = set()  # in your database: an event can come twice, always with the same id


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            event = client.beta.webhooks.unwrap(body, headers=headers)
        except WebhookVerificationError:
            self.send_response(401)
            self.end_headers()
            return
        if event.id not in seen:
            seen.add(event.id)
            print(event.created_at, event.data.type, event.id)
        self.send_response(204)  # answer at once, work afterwards
        self.end_headers()


HTTPServer(("127.0.0.1", 8080), Receiver).serve_forever()
"""

TYPESCRIPT = """\
// npm install @anthropic-ai/sdk standardwebhooks
import { createServer } from "node:http";
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ apiKey: "unused", webhookKey: process.env.MEMORYHUB_WEBHOOK_KEY });
const seen = new Set<string>(); // in your database: an event can come twice, always with the same id

createServer(async (request, response) => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const body = Buffer.concat(parts).toString();
  try {
    const headers = request.headers as Record<string, string>;
    const event = client.beta.webhooks.unwrap(body, { headers });
    if (!seen.has(event.id)) {
      seen.add(event.id);
      console.log(event.created_at, event.data.type, event.id);
    }
    response.writeHead(204).end(); // answer at once, work afterwards
  } catch {
    response.writeHead(401).end();
  }
}).listen(8080);
"""

SNIPPETS = {"python": PYTHON, "typescript": TYPESCRIPT}
