"""The HTTP interface over the engine of chdb: one statement at a time, whole answers."""
import json, re, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit
from chdb import session

engine = session.Session(sys.argv[2])
lock = threading.Lock()
OURS = {'database', 'default_format', 'query'}

def literal(value):
    return "'" + value.replace('\\', '\\\\').replace("'", "\\'") + "'"

class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.answer(200, b'Ok.\n', {})

    def do_POST(self):
        asked = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        body = self.rfile.read(int(self.headers.get('content-length', 0))).decode()
        settings = [(n, v) for n, v in asked.items() if n not in OURS]
        format = asked.get('default_format', 'TabSeparated')
        match = re.search(r'\sFORMAT (\w+)\s*$', body)
        if match and not body.startswith('INSERT'):
            format, body = match.group(1), body[:match.start()]
        with lock:
            try:
                if 'database' in asked:
                    engine.query('USE `' + asked['database'] + '`')
                for name, value in settings:
                    engine.query(f'SET {name} = {literal(value)}')
                out = engine.query(body, format).bytes() or b''
                code, headers = 200, {}
            except Exception as error:
                out = str(error).encode()
                found = re.search(r'Code: (\d+)', str(error))
                code, headers = 500, {'x-clickhouse-exception-code': found.group(1)} if found else {}
            finally:
                for name, _ in settings:
                    try:
                        engine.query(f'SET {name} = DEFAULT')
                    except Exception:
                        pass
        self.answer(code, out, headers)

    def answer(self, code, out, headers):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header('content-length', str(len(out)))
        self.end_headers()
        self.wfile.write(out)

ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
