#!/usr/bin/env python3
"""Receives webhooks, and uploads the signed PDF of each document that is completed.

It puts the PDF to CRM_URL/agreements/ID.pdf, then responds: if the upload fails, the event is sent
again. It listens on 127.0.0.1 without TLS: put a web server with TLS in front.

It needs the package dtd-client[all]; the service's page /api/docs says how to install it.

  DTD_BASE_URL        address of the service, without /api/v1: https://…
  DTD_API_KEY         a key from the workspace's developer settings: dtd_…
  DTD_WEBHOOK_SECRET  the endpoint's secret: whsec_…
  CRM_URL             where the PDFs go
  PORT                to listen on; 8080 if it is not set
"""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from tempfile import TemporaryDirectory

import dtd
import httpx

client = dtd.Client(patience=5)


class Hook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            event = dtd.webhooks.unwrap(body, dict(self.headers), os.environ["DTD_WEBHOOK_SECRET"])
            if event.type == "document.completed":
                attach(event.data.id)
            self.send_response(204)
        except dtd.errors.InvalidSignature:
            self.send_response(401)
        except (dtd.Error, httpx.HTTPError) as exc:
            print(exc)
            self.send_response(503)
        self.end_headers()


def attach(id: str) -> None:
    with TemporaryDirectory() as folder:
        pdf = client.download(id, type="signed", to=folder)
        url = f"{os.environ['CRM_URL']}/agreements/{id}.pdf"
        httpx.put(url, content=pdf.read_bytes()).raise_for_status()


port = int(os.environ.get("PORT", 8080))
ThreadingHTTPServer(("127.0.0.1", port), Hook).serve_forever()
